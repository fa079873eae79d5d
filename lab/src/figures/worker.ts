/** The thread that makes one figure. */
import { parentPort, workerData } from 'node:worker_threads'
import { bySeed } from './by-seed.js'
import { figuresOf } from './catalogue.js'
import { FULL } from './figure.js'
import type { Message, Order } from './make-all.js'

const { name, seeds } = workerData as Order
const [figure] = figuresOf([name])
const say = (message: Message): void => parentPort?.postMessage(message)
const tell = (step: string): void => say({ step })

const startMs = performance.now()
const findings = await figure!.make(FULL, tell)
const seconds = (performance.now() - startMs) / 1_000
say({ result: { findings, bySeed: seeds ? await bySeed(figure!, tell) : [], seconds } })
