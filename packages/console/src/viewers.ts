import type { After, Gate } from '@fairlead/core'
import type { Fleet } from './fleet.js'
import type { Frame } from './frame.js'
import { Watch, type WatchHost } from './watch.js'

const FRAME_MS = 1_000
/** Frames that a new viewer gets, so that the page is not empty at first. */
const KEPT = 60
/** UTF-16 units of all kept frames together: a frame has a few thousand, but names may be long. */
const KEPT_UNITS = 1_000_000
/** Frames that a viewer may leave unread before it is disconnected; its page reconnects by itself. */
const MOST_UNREAD = 8

interface OpenViewer {
  readonly controller: ReadableStreamDefaultController<Uint8Array>
  readonly records: boolean
}

/**
 * The viewers. The first one starts a listener and a timer; with the last one, both end, and all state is dropped.
 */
export class Viewers {
  readonly #gate: Gate
  readonly #host: WatchHost
  readonly #after: After
  readonly #fleet: Fleet | undefined
  readonly #viewers = new Set<OpenViewer>()
  readonly #encoder = new TextEncoder()
  #watch: Watch | undefined
  #cancel = (): void => {}
  #kept: { readonly id: number; readonly text: string }[] = []
  #keptUnits = 0
  #frames = 0

  constructor(gate: Gate, host: WatchHost, after: After, fleet: Fleet | undefined) {
    this.#gate = gate
    this.#host = host
    this.#after = after
    this.#fleet = fleet
  }

  get size(): number {
    return this.#viewers.size
  }

  /** The watch, while there are viewers. */
  get watch(): Watch | undefined {
    return this.#watch
  }

  /** The events for a new viewer, after frame `lastId`; with `records`, also the requests that ended. */
  stream(lastId: number, records: boolean): ReadableStream<Uint8Array> {
    let viewer: OpenViewer | undefined
    return new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          viewer = { controller, records }
          this.#join(viewer, lastId)
        },
        cancel: () => {
          if (viewer !== undefined) this.#leave(viewer)
        },
      },
      { highWaterMark: 0 },
    )
  }

  /** Disconnects all viewers. */
  close(): void {
    for (const viewer of [...this.#viewers]) {
      this.#leave(viewer)
      // A viewer with unread frames would keep its connection.
      if ((viewer.controller.desiredSize ?? 0) < 0) viewer.controller.error(new Error('the console was closed'))
      else viewer.controller.close()
    }
  }

  #join(viewer: OpenViewer, lastId: number): void {
    this.#viewers.add(viewer)
    if (this.#watch === undefined) {
      this.#watch = new Watch(this.#gate, this.#host)
      this.#cancel = this.#after(FRAME_MS, () => this.#tick())
    }
    this.#watch.recording = [...this.#viewers].some(({ records }) => records)
    const missed = this.#kept.filter(({ id }) => id > lastId)
    const text = `retry: 2000\n\n${missed.map((frame) => frame.text).join('')}`
    viewer.controller.enqueue(this.#encoder.encode(text))
  }

  #leave(viewer: OpenViewer): void {
    this.#viewers.delete(viewer)
    if (this.#watch === undefined) return
    this.#watch.recording = [...this.#viewers].some(({ records }) => records)
    if (this.#viewers.size > 0) return
    this.#cancel()
    this.#watch.stop()
    this.#watch = undefined
    this.#kept = []
    this.#keptUnits = 0
  }

  #tick(): void {
    const watch = this.#watch
    if (watch === undefined) return
    this.#cancel = this.#after(FRAME_MS, () => this.#tick())
    const frame = this.#frameOf(watch)
    if (frame === undefined) return
    const recorded = watch.recorded()
    const id = ++this.#frames
    const text = `id: ${id}\ndata: ${JSON.stringify(frame)}\n\n`
    this.#kept.push({ id, text })
    this.#keptUnits += text.length
    while (this.#kept.length > KEPT || (this.#keptUnits > KEPT_UNITS && this.#kept.length > 1))
      this.#keptUnits -= this.#kept.shift()!.text.length
    const bytes = this.#encoder.encode(text)
    const record = recorded && this.#encoder.encode(`event: record\ndata: ${JSON.stringify(recorded)}\n\n`)
    for (const viewer of [...this.#viewers]) {
      const { controller, records } = viewer
      if ((controller.desiredSize ?? 0) <= -MOST_UNREAD) {
        this.#leave(viewer)
        controller.error(new Error('left too much unread'))
        continue
      }
      controller.enqueue(bytes)
      if (records && record !== undefined) controller.enqueue(record)
    }
  }

  /** Undefined if a stage's answer throws: the next frame then contains this one's counts too. */
  #frameOf(watch: Watch): Frame | undefined {
    try {
      return watch.frame(this.#fleet?.others())
    } catch {
      return undefined
    }
  }
}
