/**
 * The arithmetic of the lease script, in Lua: numbers as text, strata of tenants, claims, the level, and members. It
 * repeats `members.ts` and `pool.ts` of the pool of `@fairlead/core`, step by step.
 */
export const LEASE_SUMS: string = `
local max, min, floor, sqrt = math.max, math.min, math.floor, math.sqrt
local RESOLUTION = 1024

local function text(number) return string.format('%.17g', number) end
-- Lists of numbers, as they are kept: as MessagePack, which loses nothing, and takes a tenth of the time of text.
local join, numbers = cmsgpack.pack, cmsgpack.unpack

-- Strata of tenants: where, how many, what they weigh, have used, and were refused.
local function strataOf(line)
  if not line then return {} end
  local list, strata = numbers(line), {}
  for i = 1, #list, 5 do strata[#strata + 1] = {list[i], list[i + 1], list[i + 2], list[i + 3], list[i + 4]} end
  return strata
end
local function lineOf(strata)
  local list = {}
  for i = 1, #strata do for j = 1, 5 do list[#list + 1] = strata[i][j] end end
  return join(list)
end
local function layer(strata, at, weight, used, ask, sign)
  local low, high = 1, #strata + 1
  while low < high do
    local middle = floor((low + high) / 2)
    if strata[middle][1] < at then low = middle + 1 else high = middle end
  end
  local one = strata[low]
  if not one or one[1] ~= at then
    one = {at, 0, 0, 0, 0}
    table.insert(strata, low, one)
  end
  one[2], one[3], one[4], one[5] = one[2] + sign, one[3] + sign * weight, one[4] + sign * used, one[5] + sign * ask
  if one[2] <= 0 then table.remove(strata, low) end
end
local function stratumOf(share) return floor(RESOLUTION * sqrt(sqrt(sqrt(sqrt(share))))) end

-- Claims and the level, of claimants that stand in w (weights) and g (granted), when this part of the window is over.
local w, g, n = {}, {}, 0
local function claimOf(weight, gone, level, elapsed)
  local guarantee = weight * level
  gone = max(gone, guarantee * elapsed)
  if guarantee > gone then return guarantee - gone end
  return 0
end
local function claimsAt(level, elapsed)
  local sum = 0
  for i = 1, n do sum = sum + claimOf(w[i], g[i], level, elapsed) end
  return sum
end
local function levelOf(most, left, elapsed)
  if claimsAt(most, elapsed) <= left then return most end
  local bends = {0}
  for i = 1, n do
    if w[i] > 0 then
      local begins = g[i] / w[i]
      if begins < most then bends[#bends + 1] = begins end
      if elapsed > 0 and begins / elapsed < most then bends[#bends + 1] = begins / elapsed end
    end
  end
  table.sort(bends)
  local low, high = 0, #bends
  while high - low > 1 do
    local middle = floor((low + high) / 2)
    if claimsAt(bends[middle + 1], elapsed) <= left then low = middle else high = middle end
  end
  local bend = bends[low + 1]
  local slope, offset = 0, left
  for i = 1, n do
    if w[i] > 0 and g[i] / w[i] <= bend then
      if elapsed > 0 and g[i] / w[i] / elapsed <= bend then
        slope = slope + w[i] * (1 - elapsed)
      else
        slope = slope + w[i]
        offset = offset + g[i]
      end
    end
  end
  if slope > 0 then return min(most, offset / slope) end
  return bend
end

-- Members: where what they weigh and have used is summed up, by the tenants' place, and what is kept for them.
local MEMBER = {'seenMs', 'hasCalled', 'granted', 'ahead', 'idle', 'quietWeight', 'quietUsed',
  'behindWeight', 'behindUsed', 'aheadWeight', 'aheadUsed', 'overWeight', 'overUsed',
  'seq', 'grant', 'held', 'room', 'waitMs'}
local SUMS = {
  [0] = {'behindWeight', 'behindUsed'}, [1] = {'aheadWeight', 'aheadUsed'}, [2] = {'overWeight', 'overUsed'},
}

local function memberOf(line)
  local list, m = numbers(line), {}
  for i = 1, #MEMBER do m[MEMBER[i]] = list[i] end
  return m
end
local function newMember(seenMs, seq, weight, granted)
  local m = {}
  for i = 1, #MEMBER do m[MEMBER[i]] = 0 end
  m.seenMs, m.seq, m.quietWeight, m.granted = seenMs, seq, weight, granted
  return m
end
local function weightOf(m)
  return m.quietWeight + max(0, m.behindWeight) + max(0, m.aheadWeight) + max(0, m.overWeight)
end
local function memberClaim(m, level, elapsed)
  return claimOf(max(0, m.aheadWeight), max(0, m.aheadUsed), level, elapsed)
    + claimOf(m.quietWeight + max(0, m.behindWeight), m.quietUsed + max(0, m.behindUsed), level, elapsed)
end
`
