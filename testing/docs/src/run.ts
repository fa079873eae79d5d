import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Output } from './page.js'

/** Runs a compiled program to its end, with these settings, and returns what it printed. */
export async function run(program: string, settings: Readonly<Record<string, string>>): Promise<string> {
  const env = { ...process.env, NO_COLOR: '1', ...settings }
  const { stdout } = await promisify(execFile)(process.execPath, [program], { env, timeout: 60_000 })
  return stdout.trimEnd()
}

/** Counts below this part of the largest are random: their lines may be missing. */
const CHANCE = 0.01

/** The differences between a program's output and the page. */
export function surprises(printed: string, { text, roughly }: Output): string[] {
  if (!roughly) return printed === text ? [] : [printed]
  const stated = new Set(text.split('\n').map(shapeOf))
  const least = CHANCE * Math.max(...numbersIn(printed))
  const isChance = (line: string): boolean => numbersIn(line).length > 0 && Math.max(...numbersIn(line)) < least
  return printed.split('\n').filter((line) => !stated.has(shapeOf(line)) && !isChance(line))
}

function numbersIn(text: string): number[] {
  return Array.from(text.matchAll(/\d+(?:\.\d+)?/g), ([number]) => Number(number))
}

/** A line without its numbers, and without a comma at its end, which depends on the next line. */
function shapeOf(line: string): string {
  return line.replaceAll(/\d+(?:\.\d+)?/g, '0').replace(/,$/, '')
}
