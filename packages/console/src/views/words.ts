import type { RefusalFrame } from '../frame.js'
import { duration, number, percent, rate, unitOf } from './view.js'

type Detail = Readonly<Record<string, unknown>>

/** The reason for a refusal, in words. */
export function reasonOf({ stage, reason, detail }: Pick<RefusalFrame, 'stage' | 'reason' | 'detail'>): string {
  const words = WORDS[`${stage}:${reason}`] ?? WORDS[`*:${reason}`]
  return words?.(detail) ?? `${stage} said ${reason}`
}

const WORDS: Readonly<Record<string, (detail: Detail) => string>> = {
  'fair:unfair': (detail) => {
    const fair = rateOf(detail['fairRatePerSecond'])
    if (detail['newcomer'] === true) return `new while it is short: newcomers share what is set aside for them`
    const ahead = numberIn(detail['credit'])
    return `over its fair share of ${fair}${ahead === undefined || ahead >= 0 ? '' : `, ${number(-ahead)} requests ahead`}`
  },
  'fair:overload': () => 'asks for more than the capacity, and no other flow asks',
  'shed:overload': (detail) =>
    `${textIn(detail['signal'])} is at ${loadOf(detail)}: ${percent(numberIn(detail['probability']) ?? 1)} are shed at random`,
  'queue:flow-full': (detail) => `its ${numberWord(detail['limit'])} places in the queue are taken`,
  'queue:queue-full': (detail) => `all ${numberWord(detail['limit'])} places in the queue are taken`,
  'queue:would-wait-too-long': (detail) =>
    `its turn would come after ${timeOf(detail['expectedMs'])}, and it may wait ${timeOf(detail['waitMs'])}`,
  'queue:expired': (detail) => `waited ${timeOf(detail['waitedMs'])} in vain`,
  'queue:evicted': () => 'gave its place to a flow that had less waiting',
  'queue:deadline': () => 'its deadline would pass first',
  'queue:too-wide': (detail) =>
    `needs ${numberWord(detail['width'])} slots, there are ${numberWord(detail['maximum'])}`,
  'doorman:overload': (detail) =>
    `the lease of ${textIn(detail['resource'])} is used, ${numberWord(detail['capacity'])} in all`,
  'overrides:blocked': () => 'an operator blocked it',
  'overrides:held': (detail) => `an operator holds it at ${rateOf(detail['costPerSecond'])}`,
  'budget:over-share': (detail) =>
    `its share of the budget is used: ${numberWord(detail['limit'])}; more in ${timeOf(detail['resetAfterMs'])}`,
  'budget:store-error': () => 'the store of the budget does not answer',
  'budget:never': () => 'costs more than the budget ever has for it',
  '*:gone': () => 'the client left',
  '*:closed': () => 'the gate is closed',
  '*:error': (detail) => `a stage failed: ${textIn(detail['error'])}`,
}

/** A flow's state in FAIR, the queue and the overrides, in sentences; empty if none of them knows it. */
export function whyOf(explanation: Detail): string[] {
  const sentences: string[] = []
  const fair = detailIn(explanation['fair'])
  const credit = numberIn(fair?.['credit'])
  if (fair !== undefined && credit !== undefined) {
    const share = rateOf(fair['fairRatePerSecond'])
    const waitMs = numberIn(fair['waitMs']) ?? 0
    if (fair['engaged'] !== true) sentences.push('Nothing is short: FAIR admits everything.')
    else if (fair['newcomer'] === true) sentences.push('It is new: it shares what is set aside for newcomers.')
    else if (waitMs > 0)
      sentences.push(
        `It may have ${share} and is ${number(-credit)} requests ahead: the next is let in after ${timeOf(waitMs)}.`,
      )
    else
      sentences.push(
        `It may have ${share} and has credit for ${number(Math.max(0, credit))} requests: the next is let in.`,
      )
  }
  const queue = detailIn(explanation['queue'])
  if (queue !== undefined && numberIn(queue['waiting']) !== undefined)
    sentences.push(
      `In the queue ${numberWord(queue['waiting'])} of it wait and ${numberWord(queue['running'])} slots are its own; its turns are ${percent(numberIn(queue['share']) ?? 0)} of all.`,
    )
  const override = detailIn(explanation['overrides'])
  if (override !== undefined) sentences.push(`${overrideWords(override)}, for ${timeOf(override['leftMs'])} more.`)
  return sentences
}

/** An override, in words. */
export function overrideWords(override: Detail): string {
  if (override['kind'] === 'block') return 'An operator blocked it'
  if (override['kind'] === 'hold') return `An operator holds it at ${rateOf(override['costPerSecond'])}`
  return `An operator gave it ${numberWord(override['factor'])} times its weight`
}

function numberIn(value: unknown): number | undefined {
  return typeof value === 'number' ? value : undefined
}

function numberWord(value: unknown): string {
  return typeof value === 'number' ? number(value) : '?'
}

function loadOf({ signal, load }: Detail): string {
  return typeof load === 'number' ? unitOf(textIn(signal), load)(load) : '?'
}

function rateOf(value: unknown): string {
  return typeof value === 'number' ? rate(value) : '?'
}

function timeOf(value: unknown): string {
  return typeof value === 'number' ? duration(value) : '?'
}

function textIn(value: unknown): string {
  return typeof value === 'string' ? value : '?'
}

function detailIn(value: unknown): Detail | undefined {
  return typeof value === 'object' && value !== null ? (value as Detail) : undefined
}
