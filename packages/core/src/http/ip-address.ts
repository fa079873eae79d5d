/** Zone ids and ports included, an address is never longer than this many UTF-16 units. */
const LONGEST = 100
const BRACKETED = /^\[([^\]]*)\](?::\d{1,5})?$/
const DOTTED = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?::\d{1,5})?$/
const GROUP = /^[0-9a-f]{1,4}$/i

/**
 * An IP address as its bits: four bytes of IPv4, or eight 16-bit groups of IPv6. Brackets, port and zone id are
 * dropped. Undefined for anything else.
 */
export function parseAddress(text: string): readonly number[] | undefined {
  if (text.length > LONGEST) return undefined
  const dotted = parseDotted(text)
  if (dotted !== undefined) return dotted
  const inner = BRACKETED.exec(text)?.[1] ?? text
  return parseDotted(inner) ?? parseGroups(inner.split('%', 1)[0] ?? '')
}

function parseDotted(text: string): number[] | undefined {
  const match = DOTTED.exec(text)
  if (match === null) return undefined
  const bytes = match.slice(1, 5).map(Number)
  return bytes.every((byte) => byte <= 255) ? bytes : undefined
}

function parseGroups(text: string): number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const head = parseRun(halves[0]!, halves.length === 1)
  if (head === undefined || halves.length === 1) return head?.length === 8 ? head : undefined
  const tail = parseRun(halves[1]!, true)
  if (tail === undefined || head.length + tail.length > 7) return undefined
  return [...head, ...new Array<number>(8 - head.length - tail.length).fill(0), ...tail]
}

/** Groups between colons. Only the very last one may be a dotted IPv4 address, which makes two groups. */
function parseRun(text: string, isLast: boolean): number[] | undefined {
  const groups: number[] = []
  if (text === '') return groups
  const parts = text.split(':')
  for (const [i, part] of parts.entries()) {
    if (GROUP.test(part)) {
      groups.push(Number.parseInt(part, 16))
      continue
    }
    const bytes = isLast && i === parts.length - 1 ? parseDotted(part) : undefined
    if (bytes === undefined) return undefined
    groups.push(bytes[0]! * 256 + bytes[1]!, bytes[2]! * 256 + bytes[3]!)
  }
  return groups
}
