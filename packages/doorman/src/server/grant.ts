/**
 * What a child is given: what it should have in the end, as far as others cannot be using it; and of what it has
 * already, all that it should have. So nobody falls below its share because others have not come yet to hear of theirs:
 * while a capacity is cut, the sum comes down from the old one to the new one, and no further. `floor` is what the
 * children of a server may be using.
 */
export function grantOf(target: number, free: number, leased: number, floor: number): number {
  return Math.max(Math.min(target, Math.max(free, leased)), floor)
}
