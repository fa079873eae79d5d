import { expect, it } from 'vitest'
import { pagePaths, textOf } from './repository.js'

const MOST_WORDS = 1_200

/** Pages of figures, of rules with their reasons, and of decisions may be longer. */
const EVIDENCE = /^docs\/(?:decisions\/|benchmarks|.*-(?:figures|trials|worlds|rule|published)\.md)/

function wordsOf(page: string): number {
  return textOf(page).trim().split(/\s+/).length
}

it('guides are read in one sitting', () => {
  const guides = pagePaths().filter((page) => page.startsWith('docs/') && !EVIDENCE.test(page))
  expect(guides.length).toBeGreaterThan(30)
  const long = guides.filter((page) => wordsOf(page) > MOST_WORDS)
  expect(long.map((page) => `${page}: ${wordsOf(page)} words`)).toEqual([])
})
