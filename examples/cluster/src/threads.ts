// Two worker threads with one resource: once it is short they share a clock, which the main thread keeps.
import { isMainThread, parentPort, Worker } from 'node:worker_threads'
import { FairTracker } from '@fairlead/core'

const THREADS = 2

interface State {
  members: number | undefined
}

if (isMainThread) {
  const threads = Array.from({ length: THREADS }, () => new Worker(new URL(import.meta.url)))
  const members = threads.map(() => 0)
  threads.forEach((thread, i) => {
    thread.on('message', (state: State) => {
      members[i] = state.members ?? 0
      if (members.some((count) => count < THREADS)) return
      console.log(`each of ${THREADS} threads shares its clock with the others`)
      process.exit()
    })
  })
} else {
  const tracker = new FairTracker()
  let requests = 0
  setInterval(() => {
    const key = tracker.key(`client-${requests++ % 5}`)
    // Every second request finds the resource exhausted.
    if (tracker.register(key)) tracker.report(key, requests % 2 === 0 ? 'success' : 'failure')
    const state: State = { members: tracker.snapshot().sharing?.members }
    parentPort?.postMessage(state)
  }, 5)
}
