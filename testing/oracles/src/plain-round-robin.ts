/**
 * Deficit round robin with a queue per flow, written as plainly as possible: arrays, and every round visited.
 *
 * The oracle of the tests and the baseline of the simulations; slow, and independent of the shipped code. With
 * `sparseFirst` it also has the list of new flows. A round is the array of flows whose turn is still to come; a flow
 * that has had its turn is in the array of the next round.
 *
 * `textbook` is round robin as in papers: the quantum is the mean cost, a request is served only when its flow's credit
 * covers it, and a flow without credit moves to the next round at once. In the shipped code the quantum is a geometric
 * mean; the first request of a turn may be short by the credit of the next turn; a costly request is served in advance
 * when all flows that wait for such have credit for a quarter of one, its own flow nearly as much as any, and no more
 * of them run than their share; a flow keeps at most the worth of sixteen turns beyond its head, and moves to the next
 * round when the next request is asked for.
 */
export class PlainRoundRobin<T> {
  quantum = 0
  readonly #sparseFirst: boolean
  readonly #textbook: boolean
  readonly #flows = new Map<string, PlainFlow<T>>()
  #fresh: PlainFlow<T>[] = []
  #round: PlainFlow<T>[] = []
  #nextRound: PlainFlow<T>[] = []
  #average = 0
  #averageLog = 0
  #spread = 0
  #served = 0
  #least = Number.POSITIVE_INFINITY
  #mostSaved = 0
  #mostSavedNow = 0
  /** Requests that were served and have not ended; none before the first has ended. */
  readonly #running = new Set<PlainRequest<T>>()
  #settles = false

  constructor(sparseFirst: boolean, textbook = false) {
    this.#sparseFirst = sparseFirst
    this.#textbook = textbook
  }

  get flows(): readonly PlainFlow<T>[] {
    return [...this.#flows.values()]
  }

  get waiting(): number {
    return this.flows.reduce((sum, { requests }) => sum + requests.length, 0)
  }

  flow(name: string): PlainFlow<T> | undefined {
    return this.#flows.get(name)
  }

  enqueue(name: string, item: T, cost: number, weight = 1): void {
    this.#least = Math.min(this.#least, cost)
    if (this.#flows.size === 0) this.quantum = this.#pace()
    const known = this.#flows.get(name)
    const flow: PlainFlow<T> = known ?? {
      name,
      weight,
      requests: [],
      deficit: 0,
      credited: false,
      served: 'no',
      costly: false,
    }
    flow.weight = weight
    flow.requests.push({ item, cost })
    if (known) return
    this.#flows.set(name, flow)
    if (this.#sparseFirst) {
      flow.deficit = this.#pace() * weight
      this.#fresh.push(flow)
    } else this.#nextRound.push(flow)
  }

  dequeue(isDead: (item: T) => boolean = () => false): PlainRequest<T> | undefined {
    while (this.waiting > 0) {
      const fresh = this.#fresh[0]
      const flow = fresh ?? this.#round[0]
      if (flow === undefined) {
        this.#round = this.#nextRound
        this.#nextRound = []
        this.quantum = this.#pace()
        this.#mostSaved = this.#mostSavedNow
        this.#mostSavedNow = 0
        for (const each of this.#round) {
          each.credited = false
          each.served = each.served === 'now' ? 'last turn' : 'no'
        }
        continue
      }
      if (flow.requests.length === 0 && flow.deficit >= 0) {
        this.#turnPassed(flow)
        continue
      }
      if (flow.requests[0] && isDead(flow.requests[0].item)) {
        this.remove(flow.name, 0)
        continue
      }
      const cost = flow.requests[0]?.cost ?? Number.POSITIVE_INFINITY
      flow.costly = flow.requests.length > 0 && cost * (1 - 1e-9) > 2 * this.quantum * flow.weight
      if (covers(flow, cost)) {
        if (!this.#textbook) flow.deficit = Math.min(flow.deficit, cost + 16 * this.#pace() * flow.weight)
      } else if (!fresh && !flow.credited) {
        const worth = this.quantum * flow.weight
        flow.deficit += worth
        if (Math.abs(flow.deficit) < 1e-9 * worth) flow.deficit = 0
        flow.credited = true
      }
      if (covers(flow, cost) || this.#inAdvance(flow, cost)) return this.#serve(flow)
      if (flow.requests.length === 0 && flow.deficit >= 0) this.#turnPassed(flow)
      else this.#pass(flow)
    }
    for (const flow of this.flows) this.#leave(flow)
    return undefined
  }

  #inAdvance(flow: PlainFlow<T>, cost: number): boolean {
    if (this.#textbook || flow.deficit <= 0) return false
    if (flow.costly) {
      const saved = flow.deficit / cost
      this.#mostSavedNow = Math.max(this.#mostSavedNow, saved)
      return this.#pool() >= 0.24999999975 * cost && saved >= 0.9 * this.#mostSaved && this.#mayRunCostly()
    }
    return flow.served !== 'now' && flow.deficit + this.quantum * flow.weight >= cost * (1 - 1e-9)
  }

  /** Whether costly requests run in less than their flows' share of the slots, or in less than one more and not in all. */
  #mayRunCostly(): boolean {
    const sum = (flows: readonly PlainFlow<T>[]): number => flows.reduce((all, { weight }) => all + weight, 0)
    const costly = sum(this.flows.filter((flow) => flow.costly || (flow.requests.length === 0 && flow.deficit < 0)))
    const others = sum(this.flows.filter((flow) => !flow.costly && flow.requests.length > 0))
    const running = [...this.#running].filter((each) => each.costly).length
    const beyond = running - ((this.#running.size + 1) * costly) / (costly + others)
    return beyond < 0 || (beyond < 1 && running < this.#running.size)
  }

  /** A request that was served has ended. */
  ended(request: PlainRequest<T>): void {
    this.#running.delete(request)
    this.#settles = true
  }

  /** Removes the request at `index` of a flow. */
  remove(name: string, index: number): void {
    const flow = this.#flows.get(name)!
    flow.requests.splice(index, 1)
    if (flow.requests.length === 0) this.#emptied(flow)
  }

  settle(name: string, change: number, weight = 1): void {
    let flow = this.#flows.get(name)
    if (flow === undefined) {
      if (change <= 0) return
      if (this.#flows.size === 0) this.quantum = this.#pace()
      flow = { name, weight, requests: [], deficit: 0, credited: false, served: 'no', costly: false }
      this.#flows.set(name, flow)
      this.#nextRound.push(flow)
    }
    flow.deficit -= change
    if (flow.requests.length === 0) flow.deficit = Math.min(0, flow.deficit)
  }

  #serve(flow: PlainFlow<T>): PlainRequest<T> {
    const request = { ...flow.requests.shift()!, costly: flow.costly }
    if (this.#settles) this.#running.add(request)
    flow.deficit -= request.cost
    if (Math.abs(flow.deficit) < 1e-9 * request.cost) flow.deficit = 0
    this.#served++
    const memory = Math.min(this.#served, this.#textbook ? 100 : 300)
    const log = Math.log(request.cost)
    const off = this.#served === 1 ? 0 : Math.abs(log - this.#averageLog)
    this.#average += (request.cost - this.#average) / memory
    this.#averageLog += (log - this.#averageLog) / memory
    this.#spread += (off - this.#spread) / memory
    flow.served = 'now'
    if (flow.requests.length === 0) this.#emptied(flow)
    else if (this.#textbook && !covers(flow, flow.requests[0]!.cost)) this.#pass(flow)
    return request
  }

  #emptied(flow: PlainFlow<T>): void {
    flow.deficit = Math.min(0, flow.deficit)
    flow.costly = false
    const passes = this.#sparseFirst && (flow.served !== 'no' || flow.credited)
    if (!passes && flow.deficit === 0) this.#leave(flow)
    else if (this.#fresh.includes(flow) || (flow.served === 'now' && this.#round.includes(flow))) this.#pass(flow)
  }

  #pass(flow: PlainFlow<T>): void {
    if (flow.served === 'last turn') flow.served = 'no'
    this.#takeOut(flow)
    this.#nextRound.push(flow)
  }

  /** Its queue is empty, and it owes nothing. A flow may be new again only in a round that has not credited it. */
  #turnPassed(flow: PlainFlow<T>): void {
    flow.deficit = 0
    if (this.#sparseFirst && flow.credited) this.#pass(flow)
    else this.#leave(flow)
  }

  #leave(flow: PlainFlow<T>): void {
    this.#takeOut(flow)
    this.#flows.delete(flow.name)
  }

  #takeOut(flow: PlainFlow<T>): void {
    const others = (each: PlainFlow<T>): boolean => each !== flow
    this.#fresh = this.#fresh.filter(others)
    this.#round = this.#round.filter(others)
    this.#nextRound = this.#nextRound.filter(others)
  }

  /** Credit that flows have saved for costly requests, less the debts of flows. */
  #pool(): number {
    return this.flows.reduce((sum, { deficit, costly }) => sum + (costly || deficit < 0 ? deficit : 0), 0)
  }

  #pace(): number {
    if (this.#textbook) return Math.max(this.#average, this.#least)
    const typical = this.#served === 0 ? 0 : Math.exp(this.#averageLog)
    return Math.max((1 + Math.min(0.125, 2 * this.#spread)) * typical, this.#average / 16, this.#least)
  }
}

interface PlainRequest<T> {
  readonly item: T
  readonly cost: number
  /** Whether it cost more than two turns when it was served. */
  readonly costly?: boolean
}

interface PlainFlow<T> {
  readonly name: string
  weight: number
  requests: PlainRequest<T>[]
  deficit: number
  /** Whether it got its quantum in this round. */
  credited: boolean
  /** Whether its next request cost more than two turns when it was last examined. */
  costly: boolean
  /** Whether it was served in its present turn, or in its last one. */
  served: 'no' | 'now' | 'last turn'
}

function covers<T>(flow: PlainFlow<T>, cost: number): boolean {
  return flow.deficit >= cost * (1 - 1e-9)
}
