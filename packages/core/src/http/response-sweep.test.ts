import { EventEmitter } from 'node:events'
import { describe, expect, it } from 'vitest'
import type { Contest } from '../admission/stage.js'
import { type ManualClock, manualClock } from '../testing/manual-clock.js'
import { ResponseWatch } from './response-end.js'

/** An HTTP/1.1 connection as the sweep sees it; `waiting` bytes arrive when Node is made to read on. */
class FakeSocket extends EventEmitter {
  destroyed = false
  bytesRead = 0
  bytesWritten = 0
  writableLength = 0
  waiting = 0
  paused = false
  asked: unknown[] = []
  written = ''
  isPaused(): boolean {
    return this.paused
  }
  resume(): void {
    const chunk = Math.min(65_536, this.waiting)
    this.waiting -= chunk
    this.bytesRead += chunk
    this.paused = this.waiting > 0
  }
  setKeepAlive(...how: unknown[]): void {
    this.asked.push(how)
  }
  write(text: string): void {
    this.written += text
  }
  destroySoon(): void {
    this.destroy()
  }
  destroy(): void {
    this.destroyed = true
    this.emit('close')
  }
}

/** A request over it, its listener's calls, and a watch that sweeps when `pass` is called. */
class Watched {
  readonly clock: ManualClock = manualClock()
  readonly heard: string[] = []
  contest: Contest = 'none'
  readonly socket = new FakeSocket()
  readonly request = { socket: this.socket, aborted: false, complete: true }
  /** The test adds more listeners than the warning limit allows. */
  readonly response = Object.assign(new EventEmitter().setMaxListeners(0), {
    headersSent: false,
    writableEnded: false,
    writableFinished: false,
    socket: {} as object | null,
  })
  readonly watch: ResponseWatch
  #due: (() => void)[] = []

  constructor() {
    this.watch = new ResponseWatch(this.clock, (ms, fn) => {
      // The test calls the sweep; timers due at once run at the next step.
      if (ms <= 1) this.#due.push(fn)
      return () => {}
    })
  }

  begin(): Promise<void> | undefined {
    return this.watch.watch(this.request as never, this.response, {
      responseEnded: (aborted) => void this.heard.push(aborted ? 'aborted' : 'ended'),
      contest: () => this.contest,
      answered: () => void this.heard.push('answered'),
      unheard: () => void this.heard.push('unheard'),
    })
  }

  /** Lets time pass in steps of 500 ms, with a sweep at each. */
  pass(ms: number, each: () => void = () => {}): void {
    for (let passed = 0; passed < ms; passed += 500) {
      each()
      this.clock.advance(500)
      this.watch.sweep()
      for (let steps = 0; this.#due.length > 0 && steps < 1_000; steps++) for (const fn of this.#due.splice(0)) fn()
    }
  }
}

describe('the sweep', () => {
  it('leaves a request alone whose client waits for the handler, however long, and asks for its pulse once', () => {
    const watched = new Watched()
    watched.begin()
    watched.contest = 'over-share'
    watched.pass(600_000)
    expect(watched.heard).toEqual([])
    expect(watched.socket.destroyed).toBe(false)
    expect(watched.socket.asked).toEqual([[true, 15_000]])
  })

  it('comes again after a listener that throws', () => {
    const clock = manualClock()
    const due: (() => void)[] = []
    const watch = new ResponseWatch(clock, (_ms, fn) => {
      due.push(fn)
      return () => {}
    })
    const { response } = new Watched()
    const contest = (): never => {
      throw new Error('not now')
    }
    const request = { socket: new FakeSocket(), aborted: false, complete: false }
    watch.watch(request as never, response, { responseEnded: () => {}, contest })
    const errors = Array.from({ length: 4 }, () => {
      clock.advance(500)
      try {
        for (const fn of due.splice(0)) fn()
        return undefined
      } catch (error) {
        return String(error)
      }
    })
    expect(errors).toContain('Error: not now')
    expect(due).toHaveLength(1)
  })

  it('makes Node read on from an unread connection, until no more data arrives', () => {
    const watched = new Watched()
    watched.begin()
    watched.request.complete = false
    Object.assign(watched.socket, { paused: true, waiting: 1_000_000 })
    watched.pass(1_500)
    expect(watched.socket).toMatchObject({ waiting: 0, paused: false })
  })

  it('reads no more than 4 MiB ahead, and then gives the permit of a silent connection up after half a minute', () => {
    const watched = new Watched()
    watched.begin()
    watched.request.complete = false
    Object.assign(watched.socket, { paused: true, waiting: 100_000_000 })
    watched.pass(20_000)
    expect(watched.socket.bytesRead).toBeGreaterThanOrEqual(4 * 2 ** 20)
    expect(watched.socket.bytesRead).toBeLessThan(4.2 * 2 ** 20)
    expect(watched.heard).toEqual([])
    watched.pass(15_000)
    expect(watched.heard).toEqual(['unheard'])
    expect(watched.socket.destroyed).toBe(false)
  })

  it('reads no more than 32 MiB ahead in all, and has it to give again when those have left', () => {
    const first = new Watched()
    const sockets: FakeSocket[] = []
    const open = (): FakeSocket => {
      const socket = new FakeSocket()
      Object.assign(socket, { paused: true, waiting: 100_000_000 })
      const { headersSent, writableEnded, writableFinished } = first.response
      const response = Object.assign(new EventEmitter(), { headersSent, writableEnded, writableFinished, socket: {} })
      first.watch.watch({ socket, aborted: false, complete: false } as never, response, { responseEnded: () => {} })
      sockets.push(socket)
      return socket
    }
    for (let i = 0; i < 20; i++) open()
    first.pass(5_000)
    expect(sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0)).toBeLessThan(34 * 2 ** 20)
    for (const socket of sockets) socket.destroy()
    const late = open()
    first.pass(5_000)
    expect(late.bytesRead).toBeGreaterThan(2 ** 20)
  })

  it('cuts off a client that sends nothing of its body for half a minute, with 408', () => {
    const watched = new Watched()
    watched.begin()
    watched.request.complete = false
    watched.pass(60_000, () => {
      watched.socket.bytesRead += 1
    })
    expect(watched.heard).toEqual([])
    watched.pass(29_500)
    expect(watched.heard).toEqual([])
    watched.pass(1_000)
    expect(watched.heard).toEqual(['aborted'])
    expect(watched.socket.written).toMatch(/^HTTP\/1\.1 408 /)
  })

  it.each<[Contest, number, number]>([
    ['over-share', 1_000, 2_000],
    ['others-wait', 29_000, 31_000],
  ])('cuts off a slow body where others wait, %s: not in %d ms, in %d ms', (contest, notYetMs, byThenMs) => {
    const watched = new Watched()
    watched.begin()
    watched.contest = contest
    watched.request.complete = false
    const drip = (): void => {
      watched.socket.bytesRead += 1
    }
    watched.pass(notYetMs, drip)
    expect(watched.heard).toEqual([])
    watched.pass(byThenMs - notYetMs, drip)
    expect(watched.heard).toEqual(['aborted'])
  })

  it('cuts off a client that reads nothing for half a minute, and none that reads slowly', () => {
    const watched = new Watched()
    watched.begin()
    Object.assign(watched.socket, { writableLength: 1_000, bytesWritten: 1_000 })
    watched.response.headersSent = true
    watched.pass(120_000, () => {
      watched.socket.bytesWritten += 1
    })
    expect(watched.heard).toEqual([])
    watched.pass(31_000)
    expect(watched.heard).toEqual(['aborted'])
    // A second response cannot begin in the middle of one.
    expect(watched.socket.written).toBe('')
  })

  it('releases a whole answer that is read slowly while others wait', () => {
    const watched = new Watched()
    watched.begin()
    watched.contest = 'others-wait'
    watched.response.writableEnded = true
    watched.pass(5_000, () => {
      watched.socket.bytesWritten += 1
      watched.socket.writableLength = 1_000
    })
    expect(watched.heard).toEqual(['answered'])
    expect(watched.socket.destroyed).toBe(false)
  })

  it('hears of a stream of HTTP/2 that is closed and has not said so, and asks a silent connection', () => {
    const watched = new Watched()
    let pings = 0
    const session = { destroyed: false, socket: watched.socket, ping: () => void pings++, destroy: () => {} }
    const stream = { closed: false, destroyed: false, endAfterHeaders: true, readableLength: 0, writableLength: 0 }
    Object.assign(watched.request, { stream: Object.assign(stream, { bufferSize: 0, session }) })
    watched.begin()
    watched.pass(14_500)
    expect(pings).toBe(0)
    watched.pass(10_000)
    expect(pings).toBe(1)
    expect(watched.heard).toEqual([])
    stream.closed = true
    watched.pass(1_000)
    expect(watched.heard).toEqual(['aborted'])
  })

  it('ends a session of HTTP/2 that does not answer', () => {
    const watched = new Watched()
    const session = {
      destroyed: false,
      socket: watched.socket,
      ping: () => true,
      destroy: () => watched.socket.destroy(),
    }
    const stream = { closed: false, destroyed: false, endAfterHeaders: true, readableLength: 0, writableLength: 0 }
    Object.assign(watched.request, { stream: Object.assign(stream, { bufferSize: 0, session }) })
    watched.begin()
    watched.pass(44_000)
    expect(watched.heard).toEqual([])
    watched.pass(2_000)
    expect(watched.heard).toEqual(['aborted'])
  })

  it('has a pipelined request wait for its turn, and ends the wait with the connection', async () => {
    const watched = new Watched()
    watched.response.socket = null
    const turn = watched.begin()
    let begun = false
    void turn?.then(() => {
      begun = true
    })
    watched.contest = 'over-share'
    watched.request.complete = false
    await Promise.resolve()
    expect(begun).toBe(false)
    watched.socket.destroy()
    await turn
    expect(watched.heard).toEqual(['aborted'])
  })

  it('closes a connection on which more than a hundred requests wait for their turn', () => {
    const watched = new Watched()
    watched.response.socket = null
    for (let i = 0; i < 100; i++) watched.begin()
    expect(watched.socket.destroyed).toBe(false)
    watched.begin()
    expect(watched.socket.destroyed).toBe(true)
    expect(watched.heard).toEqual(new Array(101).fill('aborted'))
  })
})
