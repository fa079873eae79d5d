import { describe, expect, it } from 'vitest'
import { compile } from './compile.js'
import { parsePage } from './page.js'
import { run, surprises } from './run.js'

const fence = (code: string, language = 'ts'): string => `\`\`\`${language}\n${code}\n\`\`\`\n`
const examplesOf = (markdown: string) => parsePage('page.md', markdown).examples
const complaintsOf = (markdown: string): readonly string[] => {
  const { examples, tables } = parsePage('page.md', markdown)
  return compile([...examples, ...tables], 'made-up').complaints
}

describe('checking a page', () => {
  it('finds an option that is not there, and says on which line', () => {
    const block = fence("import { createGate } from '@fairlead/core'\n\ncreateGate({ queu: { capacity: 1 } })")
    expect(complaintsOf(`# Page\n\n${block}`)).toEqual([expect.stringMatching(/^page\.md:6 TS\d+: .*'queu'/)])
  })

  it('is as strict as the repository', () => {
    expect(complaintsOf(fence('const first: string = [1, 2][0]\nfunction f(x) {}'))).toEqual([
      expect.stringMatching(/^page\.md:2 .*'number \| undefined'/),
      expect.stringMatching(/^page\.md:3 .*'x' implicitly/),
    ])
  })

  it('takes each block for itself, unless it goes on from the one before', () => {
    const [one, two] = [fence('const one = 1'), fence('console.log(one + two)')]
    expect(complaintsOf(`${one}\n${two}`)).toHaveLength(2)
    const given = '<!-- example given\ndeclare const two: number\n-->'
    expect(complaintsOf(`${one}\n<!-- example continues -->\n${given}\n${two}`)).toEqual([])
  })

  it('knows lines also of what is given', () => {
    expect(complaintsOf(`# Page\n\n<!-- example given\ndeclare const x: X\n-->\n${fence('x')}`)).toEqual([
      "page.md:4 TS2304: Cannot find name 'X'.",
    ])
  })

  it('continues a program across a table', () => {
    const table = '<!-- example options queue.AdaptiveOptions -->\n| option |\n|---|\n| `initial`, `min`, `max` |'
    const page = `${fence('const one = 1')}\n${table}\n\n<!-- example continues -->\n${fence('console.log(one)')}`
    expect(complaintsOf(page)).toEqual([])
  })

  it('wants tables of options to be whole, and to have no others', () => {
    const table = (rows: string): string =>
      `<!-- example options queue.AdaptiveOptions -->\n| option | meaning |\n|---|---|\n${rows}`
    expect(complaintsOf(table('| `initial` | |\n| `min`, `max` | |'))).toEqual([])
    expect(complaintsOf(table('| `initial` | |\n| `mni` | |\n| `max` | |'))).toEqual([
      expect.stringMatching(/^page\.md:5 .*'mni' does not exist/),
    ])
    expect(complaintsOf(table('| `initial` | |\n| `max` | |'))).toEqual([expect.stringMatching(/'min' is missing/)])
  })

  it.each([
    ['<!-- example contineus -->\n```ts\n1\n```', /contineus/],
    ['<!-- example prints -->\n```text\n1\n```', /no program/],
    ['<!-- example given\n-->\nA paragraph.', /no block/],
  ])('refuses notes that mean nothing: %s', (markdown, message) => {
    expect(() => examplesOf(markdown)).toThrow(message)
  })
})

describe('running a program', () => {
  it('compares what it prints with what its comments say', async () => {
    const [right, wrong] = examplesOf(`${fence('console.log(1 + 1) // → 2')}\n${fence('console.log(1 + 1) // → 3')}`)
    const compiled = compile([right!, wrong!], 'made-up')
    expect(surprises(await run(compiled.program(right!), {}), right!.output!)).toEqual([])
    expect(surprises(await run(compiled.program(wrong!), {}), wrong!.output!)).toEqual(['2'])
  })

  it('compares it with the text that follows, roughly where the page says so', () => {
    const page = (note: string): string => `${fence('1')}\nprints\n\n<!-- ${note} -->\n${fence('a 1,\nb 2', 'text')}`
    const [exact] = examplesOf(page('example prints'))
    expect(surprises('a 1,\nb 2', exact!.output!)).toEqual([])
    expect(surprises('a 1,\nb 3', exact!.output!)).toHaveLength(1)
    const [roughly] = examplesOf(page('example prints roughly'))
    expect(surprises('b 3.5,\na 4', roughly!.output!)).toEqual([])
    expect(surprises('b 3\nc 4', roughly!.output!)).toEqual(['c 4'])
    expect(surprises('b 900\nc 4', roughly!.output!)).toEqual([])
  })
})
