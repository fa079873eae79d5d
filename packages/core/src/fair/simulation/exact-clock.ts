import { ExactBackground } from './exact-background.js'

/**
 * A request that was let in: what it was charged, perhaps nothing; its number, and when; the cost of all until then.
 */
export interface ExactAdmission {
  readonly charged: number
  readonly serial: number
  readonly at: number
  readonly sum: number
}

/**
 * The fair clock written down once more, as plainly as can be: one object, one record per flow, a name for every number
 * as in the note from which the rule was built. The oracle of what ships; slow, and never forgets a flow.
 */
export class ExactClock {
  readonly #tags = new Map<string, number>()
  #last: number | undefined
  /** The time that has passed, without leaps. */
  #at = 0
  V = 2
  alpha = 1
  open = true
  Q = 0
  C = 0
  #CL = 0
  #S = 0
  #TT = 0
  #cbar = 1
  #cn = 0
  #F = 0
  #R = 0
  #RT = 0
  #R1 = 0
  #RT1 = 0
  #heard = false
  /** The failure that began the run: number, time. Until when it goes on: time, sum. What was measured: time, sum. */
  #fs = 0
  #ft = 0
  #rt = 0
  #rs = 0
  #mt = 0
  #ms = 0
  #delay = 0
  #delays = 0
  #n = 0
  #qp = 0
  #pb = 0
  #nr = 0
  #wr = 1
  #sat = 0
  #tk = 1
  #lx = 0
  #ls = 0
  #theta = 3
  #qm = 12
  #adm = 0
  #sum = 0
  /** Requests per second that may be let in, as of the last step of time. */
  #most = Number.POSITIVE_INFINITY
  /** The requests whose outcome is to come, and the last numbers of the three batches that they are followed in. */
  readonly #underWay = new Set<number>()
  #batches = [64, 128, 192]
  /** Up to which number they were given up. */
  #given = 0
  #late = 0
  #ep = 0
  readonly #watched: { flow: string; asked: number; missed: number; refused: number }[] = []
  #watchedSum = 0
  #halved: number | undefined
  #NB = Number.POSITIVE_INFINITY
  #newFor = 0
  #A = 0
  #tw = 0.25
  #W = 0
  #Wv = 0
  #Wn = 0
  #lag = 0
  #pool = false
  readonly background: ExactBackground = new ExactBackground()

  /** Charges of a minute ago, at the fair rate, are forgotten, but not before twice the credit has passed. */
  #known(flow: string, w: number): number {
    const tag = this.#tags.get(flow) ?? 0
    return tag < this.V - Math.max(60 * this.alpha, (24 * this.#cbar) / w) ? 0 : tag
  }

  #new(flow: string, w: number): boolean {
    return !this.open && this.#known(flow, w) === 0
  }

  /** A request at `t` seconds: refused (`undefined`), or let in. */
  admit(flow: string, t: number, c: number, w: number): ExactAdmission | undefined {
    this.#advance(t)
    if (this.#cn++ === 0) {
      this.V = 2 * c
      this.alpha = c
    }
    this.#cbar += (c - this.#cbar) / Math.min(this.#cn, 100)
    const isNew = this.#new(flow, w)
    const greedy = this.#watch(flow, c)
    const m = Math.max(this.#known(flow, w), this.V - ((isNew ? 1 : 12) * this.#cbar) / w)
    if (this.open) {
      const step = Math.min(0.03, (0.3 * this.#cbar) / this.#peak())
      this.alpha *= Math.exp(step * (m > this.V ? 0.67 : -0.33))
      if (m > this.V) return this.#letIn(c, 0)
    } else {
      const tries = this.#most < Number.POSITIVE_INFINITY
      if (m > this.#limit(w) || (tries && this.Q < 0) || (isNew && !this.#letsInNew(c))) {
        this.#nr = 0
        this.#wr = w
        this.#watched.find((each) => each.flow === flow)!.refused += c
        return undefined
      }
    }
    this.#nr++
    this.#tags.set(flow, m + c / w)
    if (this.open) return this.#letIn(c, c)
    this.#A += c
    if (greedy) this.#NB += c
    if (!this.#pool) this.Q = Math.max(this.Q - c, -this.#theta)
    if (isNew) this.#tags.set(flow, Math.max(m + c / w, this.#limit(w) + (0.5 * this.#cbar) / w))
    if (this.Q >= 0.8 * this.#qm && this.#nr >= 30) this.#sat++
    else this.#sat = 0
    if (this.#sat > 20) {
      this.open = true
      this.#sat = 0
    }
    return this.#letIn(c, c)
  }

  /** Space-Saving with 16 places: true if of a 64th of everything that was surely asked most was refused. */
  #watch(flow: string, c: number): boolean {
    this.#watchedSum += c
    const known = this.#watched.find((each) => each.flow === flow)
    if (known) {
      known.asked += c
      const seen = known.asked - known.missed
      return seen > this.#watchedSum / 64 && known.refused > 0.5 * seen
    }
    const fresh = { flow, asked: c, missed: 0, refused: 0 }
    if (this.#watched.length < 16) this.#watched.push(fresh)
    else {
      const least = Math.min(...this.#watched.map(({ asked }) => asked))
      const i = this.#watched.findIndex(({ asked }) => asked === least)
      this.#watched[i] = { ...fresh, asked: least + c, missed: least }
    }
    return false
  }

  #limit(w: number): number {
    return this.V + Math.max(0, Math.min(this.Q - 0.5 * this.#theta, 4 * this.#cbar)) / w
  }

  succeed(t: number, c: number, admission: ExactAdmission): void {
    this.#advance(t)
    this.#report(admission.serial)
    this.#isBackground(admission, false)
    this.#heard = true
    this.#F -= this.#F / 50
    this.#R += c
    this.#R1 += c
    if (this.open) return
    if (this.Q < 0.8 * this.#qm) this.#n++
    if (this.C < 0.8 * this.#CL && this.#n > 3) this.C *= 1.5
    if (this.Q < 0 && this.#underWay.size === 0 && !this.#pool && this.#most === Number.POSITIVE_INFINITY) {
      this.#pb = Math.max(0, this.#pb - this.Q)
      this.Q = 0
    }
  }

  /** A failure at `t` of a request of cost `c`. */
  fail(t: number, c: number, admission: ExactAdmission): void {
    const { serial, at, sum } = admission
    this.#advance(t)
    this.#report(serial)
    if (this.#isBackground(admission, true)) {
      if (this.open && this.background.isDue(this.#at) && this.#rate() > 0) {
        this.#engage()
        this.#begin(serial, at, sum)
      }
      this.#unused(c, serial)
      return
    }
    this.#Wn = Math.min(20, this.#Wn + 1)
    const k = 1 / this.#Wn
    const e = this.#underWay.size - this.#W
    this.#W += k * e
    this.#Wv += k * (e * e * (1 - k) - this.#Wv)
    this.#lag += k * (this.#adm - serial - this.#lag)
    this.#pool = this.#Wn >= 10 && this.#lag < 0.5 && this.#W >= 1 && this.#Wv < 0.1 * this.#W
    this.#delays = Math.min(20, this.#delays + 1)
    this.#delay += (this.#at - at - this.#delay) / this.#delays
    this.#heard = true
    this.#F += (1 - this.#F) / 50
    if (this.open) {
      if (this.#F > 0.03 && this.#rate() > 0) this.#engage()
      if (!this.open) this.#begin(serial, at, sum)
      return
    }
    const full = this.#qp >= 0.8 * this.#qm
    const inRun = serial > this.#fs
    if (inRun) {
      this.#rt = Math.max(at, this.#mt)
      this.#rs = Math.max(sum - c, this.#ms)
      this.#measure(full)
    } else this.#lessen(c)
    if (serial > this.#ep) this.#correct(this.#rs - this.#ms, c, full)
    this.#qp = 0
    if (inRun) this.#begin(serial, at, sum)
  }

  /** An outcome that says nothing, or a request that never ran: `withdrawn` gives its flow back what it paid. */
  ignore(flow: string, t: number, { charged, serial }: ExactAdmission, w: number, withdrawn: boolean): void {
    this.#advance(t)
    this.#report(serial)
    this.#unused(charged, serial)
    if (withdrawn) this.#tags.set(flow, Math.max(0, (this.#tags.get(flow) ?? 0) - charged / w))
  }

  #isBackground({ serial, at }: ExactAdmission, failed: boolean): boolean {
    return this.background.report({ serial, at, failed }, this.#adm, this.#at, !this.open && !this.#pool, this.C)
  }

  #unused(c: number, serial: number): void {
    if (this.open) return
    this.Q = Math.min(this.#qm, this.Q + c)
    if (serial > this.#fs) this.#ms += c
    else this.#lessen(c)
  }

  #letIn(c: number, charged: number): ExactAdmission {
    this.#adm++
    this.#sum += c
    this.#underWay.add(this.#adm)
    return { charged, serial: this.#adm, at: this.#at, sum: this.#sum }
  }

  #begin(serial: number, at: number, sum: number): void {
    this.#fs = serial
    this.#ft = this.#rt = this.#mt = at
    this.#rs = this.#ms = sum
    this.#n = 0
  }

  #raise(): void {
    const s = this.#rs - this.#ms - this.#delay * this.C
    const dt = this.#rt - this.#mt
    if (s > 10 * this.#cbar) this.C = Math.max(this.C, (this.#S + s - this.#cbar) / (this.#TT + dt))
    if (s < 50 * this.#cbar || this.#x() < 0.2) return
    const d = Math.exp(-s / this.#cbar / 100)
    const S = this.#S * d + s
    const TT = this.#TT * d + dt
    if (S <= this.C * TT) return
    this.#S = S
    this.#TT = TT
    this.C = S / TT
    this.#mt = this.#rt
    this.#ms = this.#rs
  }

  #measure(full: boolean): void {
    const s = this.#rs - this.#ms
    const dt = this.#rt - this.#mt
    if (full && s <= this.C * dt) return
    const d = Math.exp(-(s / this.#cbar + 1) / 100)
    this.#S = this.#S * d + s
    this.#TT = this.#TT * d + dt
    this.C = Math.max(1e-6 * this.#cbar, this.#S / this.#TT)
    if (s > 0) this.#CL = Math.max(this.C, 0.9 * this.#CL)
  }

  #lessen(c: number): void {
    if (this.#TT === 0) return
    this.#S = Math.max(0, this.#S - c)
    this.C = Math.max(1e-6 * this.#cbar, this.#S / this.#TT)
  }

  #engage(): void {
    this.open = false
    const r = this.#peak()
    if (this.C > 0 && r > 0.6 * this.C) {
      const scale = Math.min(1, (30 * this.#cbar) / this.#S)
      this.#S *= scale
      this.#TT *= scale
      this.C = this.#S / this.#TT
    } else {
      this.C = r
      this.#S = Math.min(10 * this.#cbar, this.#R)
      this.#TT = this.#S / this.C
    }
    this.#CL = Math.max(0.8 * this.#rate(), this.#CL)
    this.background.highest = Math.max(this.background.highest, this.#R / 2)
    this.#fit(this.C)
    this.Q = 0
    this.#pb = 0
    this.#qp = 0
    this.#A = 0
    this.#ep = this.#adm
  }

  #correct(s: number, c: number, full: boolean): void {
    const net = this.Q - this.#pb - this.#cbar
    const e = Math.exp(-s / this.#cbar / 200)
    this.#lx *= e
    this.#ls = this.#ls * e + s
    if (!full) {
      if (net > 0) this.#lx += net
      if (this.#lx > 0.006 * this.#ls + 0.5 * this.#cbar) {
        this.#tk = (0.8 * this.#theta) / (2 * this.#cbar + 0.1 * this.C)
        this.#lx *= 0.7
      } else if (s > 5 * this.#cbar && this.#tk < 20 && this.#qp >= this.#theta) this.#tk *= 1.05
    }
    this.Q = Math.min(this.Q, Math.max(0, c - this.#cbar))
    this.#pb = 0
    this.#ep = this.#adm
  }

  #letsInNew(c: number): boolean {
    const most = Math.max(12 * this.#cbar, 0.5 * this.C)
    this.#NB = Math.min(most, this.#NB + 0.25 * this.C * this.#newFor)
    this.#newFor = 0
    if (this.#NB < c) return this.Q >= 1.5 * this.#theta
    this.#NB -= c
    return true
  }

  #x(): number {
    return Math.max(0, Math.min(this.#n / 100, (this.#rt - this.#ft - this.#delay) / (8 + 6 * this.#delay)))
  }

  #report(serial: number): void {
    this.#late += (this.#adm - Math.max(serial, this.#given) - this.#late) / 50
    while (serial > this.#batches[2]!) {
      this.#given = this.#batches.shift()!
      for (const one of this.#underWay) if (one <= this.#given) this.#underWay.delete(one)
      this.#batches.push(this.#batches[1]! + Math.max(64, Math.ceil(4 * this.#late)))
    }
    this.#underWay.delete(serial)
  }

  #rate(): number {
    return this.#R / Math.max(0.02, this.#RT)
  }

  #peak(): number {
    return Math.max(this.#rate(), this.#R1 / Math.max(0.02, this.#RT1))
  }

  #advance(t: number): void {
    this.#halved ??= t
    if (t - this.#halved >= 10) {
      const kept = 0.5 ** Math.floor((t - this.#halved) / 10)
      this.#watchedSum *= kept
      for (const each of this.#watched) {
        each.asked *= kept
        each.missed *= kept
        each.refused *= kept
      }
      this.#halved = t
    }
    const elapsed = t - (this.#last ?? t)
    this.#last = t
    if (elapsed <= 0) return
    const dt = Math.min(elapsed, Math.max(1, (30 * this.#cbar) / this.C))
    this.#at += dt
    this.#newFor += dt
    const d = Math.exp(-dt / 2)
    this.#R *= d
    const d1 = Math.exp(-dt / 0.1)
    this.#R1 *= d1
    if (this.#heard) {
      this.#RT = this.#RT * d + 2 * (1 - d)
      this.#RT1 = this.#RT1 * d1 + 0.1 * (1 - d1)
    }
    if (this.#F <= 0.5) this.#CL *= Math.exp(-dt / 60)
    if (this.open) {
      this.V += this.alpha * dt
      return
    }
    this.#rt = this.#at
    this.#rs = this.#sum
    this.#raise()
    const x = this.#x()
    const g = Math.min(4, 1 + 0.02 + x * x)
    this.#most = this.background.most(this.#adm, this.#at)
    const Ce = Math.min(Math.max(this.C * g, this.#cbar), this.#most * this.#cbar)
    if (this.#most < Number.POSITIVE_INFINITY) this.#qp = Math.max(this.#qp, this.#qm)
    if (this.#pool) {
      this.#theta = this.#cbar * Math.max(1, Math.min(0.8 * Math.sqrt(this.#W), 0.5 * this.#W))
      this.#qm = Math.max(4 * this.#theta, 0.8 * this.#cbar * this.#W)
      this.Q = this.#cbar * (this.#W * (1 + x * x) - this.#underWay.size)
      if (this.Q > 0) this.#run(this.Q / this.#theta, this.Q / this.#theta, dt, Ce)
      return
    }
    this.#tw = 0.25 + (10 * this.#cbar) / Ce
    this.#A *= Math.exp(-dt / this.#tw)
    this.#fit(Ce)
    this.#pb += (Ce - this.C) * dt
    const q0 = this.Q
    this.Q = Math.min(this.#qm, this.Q + Ce * dt)
    this.#qp = Math.max(this.#qp, this.Q)
    if (this.Q <= 0) return
    const spare = (q0 > 0 ? 1 : this.Q / (this.Q - q0)) * dt
    const q = (Math.max(0, q0) + this.Q) / 2
    const ahead = Math.min(2, this.#cbar / (this.alpha * this.#wr)) * (Ce - this.#A / this.#tw)
    this.#run(q / this.#theta, Math.max(0, (q + ahead) / this.#theta), spare, Ce)
  }

  #fit(Ce: number): void {
    const th = 2 * this.#cbar + 0.1 * this.C
    this.#theta = Math.min(Math.max(this.#tk * th, 1.5 * this.#cbar), 2 * this.#cbar + 0.25 * this.C)
    this.#qm = Math.max(12 * this.#cbar, 0.5 * Ce, 4 * this.#theta)
  }

  #run(p: number, pe: number, spare: number, Ce: number): void {
    this.V += Math.min(this.Q / this.#wr, this.alpha * Math.min(4, pe) * spare)
    const u = Math.min(4, p - 1)
    if (u > 0 && (this.#nr >= 20 || this.alpha * this.#wr > Ce)) return
    const full = this.Q >= 0.8 * this.#qm
    const rps = Ce / this.#cbar
    const step = (full ? Math.min(0.2 * rps, 3) : Math.min(0.02 * rps, 0.2)) * u * spare
    this.alpha *= Math.exp(Math.max(-0.7, Math.min(0.7, step)))
  }
}
