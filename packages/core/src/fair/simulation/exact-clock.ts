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
  #si = 0
  #mark = 0
  #n = 0
  #qp = 0
  #pb = 0
  #nr = 0
  #sat = 0
  #tk = 1
  #lx = 0
  #ls = 0
  #theta = 3
  #qm = 12
  #adm = 0
  #rep = 0
  #ep = 0
  #NB = Number.POSITIVE_INFINITY
  #newFor = 0
  #A = 0
  #tw = 0.25
  #W = 0
  #Wv = 0
  #Wn = 0
  #lag = 0
  #pool = false
  #measured = 0

  get admitted(): number {
    return this.#adm
  }

  #new(flow: string): boolean {
    return !this.open && (this.#tags.get(flow) ?? 0) === 0
  }

  /** A request at `t` seconds: refused (`undefined`), or let in and charged so much, perhaps nothing. */
  admit(flow: string, t: number, c: number, w: number): number | undefined {
    this.#advance(t)
    this.#cn++
    this.#cbar += (c - this.#cbar) / Math.min(this.#cn, 100)
    const isNew = this.#new(flow)
    const m = Math.max(this.#tags.get(flow) ?? 0, this.V - ((isNew ? 1 : 12) * this.#cbar) / w)
    const over = m > this.V
    if (this.open) {
      const step = Math.min(0.03, (0.3 * this.#cbar) / this.#rate())
      this.alpha *= Math.exp(step * (over ? 0.67 : -0.33))
      if (over) {
        this.#adm++
        return 0
      }
    }
    if (over || (isNew && !this.#letsInNew(c))) {
      this.#nr = 0
      return undefined
    }
    this.#nr++
    this.#tags.set(flow, m + c / w)
    this.#adm++
    if (this.open) return c
    if (this.Q <= 0 && this.V - m < this.#cbar / w && this.#F < 0.9)
      this.alpha *= Math.exp(-Math.min(0.03, 0.6 / this.C))
    this.#A += c
    if (!this.#pool) this.Q = Math.max(this.Q - c, -this.#theta)
    if (this.Q >= 0.8 * this.#qm && this.#nr >= 30) this.#sat++
    else this.#sat = 0
    if (this.#sat > 20) {
      this.open = true
      this.#sat = 0
    }
    return c
  }

  succeed(t: number, c: number): void {
    this.#advance(t)
    this.#report()
    this.#F -= this.#F / 50
    this.#R += c
    this.#si += c
    if (this.open) return
    if (this.Q < 0.8 * this.#qm) this.#n++
    if (this.C < 0.8 * this.#CL && this.#n > 3) this.C *= 1.5
    if (this.#si > 10 * this.#cbar)
      this.C = Math.max(this.C, (this.#S + this.#si - this.#cbar) / (this.#TT + (this.#at - this.#measured)))
    if (this.#si >= 50 * this.#cbar && this.#x() >= 0.2) {
      const d = Math.exp(-this.#si / this.#cbar / 100)
      const S = this.#S * d + this.#si
      const TT = this.#TT * d + (this.#at - this.#measured)
      if (S / TT > this.C) {
        this.#S = S
        this.#TT = TT
        this.C = S / TT
        this.#measured = this.#at
        this.#si = 0
      }
    }
    if (this.Q < 0 && this.#rep >= this.#adm && !this.#pool) {
      this.#pb = Math.max(0, this.#pb - this.Q)
      this.Q = 0
    }
  }

  /** A failure at `t` of a request of cost `c` that was charged `charged`, as the `serial`-th that was admitted. */
  fail(flow: string, t: number, c: number, charged: number, w: number, serial: number): void {
    this.#advance(t)
    this.#report()
    this.#Wn = Math.min(20, this.#Wn + 1)
    const k = 1 / this.#Wn
    const e = this.#adm - this.#rep - this.#W
    this.#W += k * e
    this.#Wv += k * (e * e * (1 - k) - this.#Wv)
    this.#lag += k * (this.#adm - serial - this.#lag)
    this.#pool = this.#Wn >= 10 && this.#lag < 0.5 && this.#W >= 1 && this.#Wv < 0.1 * this.#W
    this.#F += (1 - this.#F) / 50
    if (this.open) {
      const r = this.#rate()
      if (this.#F > 0.03 && r > 0) this.#engage(r)
      return
    }
    if (this.#F <= 0.9) this.#tags.set(flow, Math.max(0, (this.#tags.get(flow) ?? 0) - charged / w))
    const s = this.#si
    const dt = this.#at - this.#measured
    const full = this.#qp >= 0.8 * this.#qm
    if (!(full && s <= this.C * dt)) {
      const d = Math.exp(-(s / this.#cbar + 1) / 100)
      this.#S = this.#S * d + s
      this.#TT = this.#TT * d + dt
      this.C = Math.max(1e-6, this.#S / this.#TT)
      if (s > 0) this.#CL = Math.max(this.C, 0.9 * this.#CL)
    }
    if (this.#rep >= this.#ep) this.#correct(s, c, full)
    this.#mark = this.#measured = this.#at
    this.#si = 0
    this.#n = 0
    this.#qp = 0
  }

  /** An outcome that says nothing, or a request that never ran: `withdrawn` gives its flow back what it paid. */
  ignore(flow: string, t: number, charged: number, w: number, withdrawn: boolean): void {
    this.#advance(t)
    this.#report()
    if (!this.open) this.Q = Math.min(this.#qm, this.Q + charged)
    if (withdrawn) this.#tags.set(flow, Math.max(0, (this.#tags.get(flow) ?? 0) - charged / w))
  }

  #engage(r: number): void {
    this.open = false
    if (this.C > 0 && r > 0.6 * this.C) {
      const scale = Math.min(1, (30 * this.#cbar) / this.#S)
      this.#S *= scale
      this.#TT *= scale
      this.C = this.#S / this.#TT
    } else {
      this.C = r
      this.#S = Math.min(10 * this.#cbar, this.#R)
      this.#TT = this.#S / r
    }
    this.Q = 0
    this.#pb = 0
    this.#si = 0
    this.#n = 0
    this.#qp = 0
    this.#A = 0
    this.#mark = this.#measured = this.#at
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
    if (this.#NB < c) return this.Q >= this.#theta
    this.#NB -= c
    return true
  }

  #x(): number {
    return Math.min(this.#n / 100, (this.#at - this.#mark) / 8)
  }

  #report(): void {
    this.#rep = Math.min(this.#adm, this.#rep + 1)
  }

  #rate(): number {
    return this.#R / Math.max(0.02, this.#RT)
  }

  #advance(t: number): void {
    const elapsed = t - (this.#last ?? t)
    this.#last = t
    if (elapsed <= 0) return
    const dt = Math.min(elapsed, Math.max(1, (30 * this.#cbar) / this.C))
    this.#at += dt
    this.#newFor += dt
    const d = Math.exp(-dt / 2)
    this.#R *= d
    this.#RT = this.#RT * d + 2 * (1 - d)
    if (this.#F <= 0.9) this.#CL *= Math.exp(-dt / 60)
    this.#rep += (this.#adm - this.#rep) * Math.min(1, dt / 60)
    if (this.open) {
      this.V += this.alpha * dt
      return
    }
    const x = this.#x()
    const g = Math.min(4, 1 + 0.02 + x * x)
    const Ce = Math.max(this.C * g, this.#cbar)
    const th = 2 * this.#cbar + 0.1 * this.C
    if (this.#pool) {
      this.#theta = Math.max(1, Math.min(0.8 * Math.sqrt(this.#W), 0.5 * this.#W))
      this.#qm = Math.max(4 * this.#theta, 0.8 * this.#W)
      this.Q = this.#W * (1 + x * x) - (this.#adm - this.#rep)
      if (this.Q > 0) this.#run(this.Q / this.#theta, this.Q / this.#theta, dt, Ce)
      return
    }
    this.#tw = 0.25 + (10 * this.#cbar) / Ce
    this.#A *= Math.exp(-dt / this.#tw)
    this.#theta = Math.min(Math.max(this.#tk * th, 1.5 * this.#cbar), 2 * this.#cbar + 0.25 * this.C)
    this.#qm = Math.max(12 * this.#cbar, 0.5 * Ce, 4 * this.#theta)
    this.#pb += (Ce - this.C) * dt
    const q0 = this.Q
    this.Q = Math.min(this.#qm, this.Q + Ce * dt)
    this.#qp = Math.max(this.#qp, this.Q)
    if (this.Q <= 0) return
    const spare = (q0 > 0 ? 1 : this.Q / (this.Q - q0)) * dt
    const q = (Math.max(0, q0) + this.Q) / 2
    const ahead = Math.min(2, 1 / this.alpha) * (Ce - this.#A / this.#tw)
    this.#run(q / this.#theta, Math.max(0, (q + ahead) / this.#theta), spare, Ce)
  }

  #run(p: number, pe: number, spare: number, Ce: number): void {
    this.V += Math.min(this.Q, this.alpha * Math.min(4, pe) * spare)
    const u = Math.min(4, p - 1)
    if (u > 0 && this.#nr >= 20) return
    const full = this.Q >= 0.8 * this.#qm
    const rps = Ce / this.#cbar
    const step = (full ? Math.min(0.2 * rps, 3) : Math.min(0.02 * rps, 0.2)) * u * spare
    this.alpha *= Math.exp(Math.max(-0.7, Math.min(0.7, step)))
  }
}
