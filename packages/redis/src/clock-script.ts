/**
 * Exchanges the messages of processes that share a clock: reports for the arbiter, leases for the others. The member in
 * the field `arbiter` runs the arbiter; the field is held for 0.8 seconds, and renewed with each call. Only differences
 * of Redis's clock are used.
 *
 * One hash per clock, which expires five seconds after the last call:
 *
 * - `arbiter`: the member that holds it, and the end of its term
 * - `from:<member>`: reports that the arbiter has not fetched, one a line, each with its time of arrival
 * - `all`: the time of the leases, and their common part
 * - `to:<member>`: the member's own part of a lease, until it is fetched
 *
 * A call has the member, and its action in one letter:
 *
 * - `f`: fetches
 * - `r` and a report
 * - `p` and leases to publish, as lines: the common part, then for each other member its name, a space, and its own
 *   part
 * - `l`: leaves
 *
 * All times are in microseconds.
 */
export const CLOCK_SCRIPT: string = `
local key, me, does, text = KEYS[1], ARGV[1], string.sub(ARGV[2], 1, 1), string.sub(ARGV[2], 2)
local TERM, KEEP_MS, MOST_KEPT, MOST_FIELDS = 800000, 5000, 65536, 4000
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
local function us(number) return string.format('%.0f', number) end

local holder, till = string.match(redis.call('HGET', key, 'arbiter') or '', '^(%S+) (%d+)$')
till = tonumber(till or 0)
if does == 'l' then
  redis.call('HDEL', key, 'from:' .. me, 'to:' .. me)
  if holder == me then redis.call('HDEL', key, 'arbiter') end
  return {}
end
-- A term that is longer than terms are was set by another clock.
if holder ~= me and (not holder or till <= now or till > now + TERM) then
  holder = me
  redis.call('HDEL', key, 'all')
  -- Leases of an arbiter whose term is over come too late.
  if does == 'p' then does = 'f' end
end
-- Of members that are gone there is a field each, at most.
if redis.call('HLEN', key) > MOST_FIELDS then redis.call('DEL', key) end

local reply
if holder == me then
  redis.call('HSET', key, 'arbiter', me .. ' ' .. us(now + TERM))
  local fields = redis.call('HGETALL', key)
  reply = {1}
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 5) == 'from:' then
      redis.call('HDEL', key, fields[i])
      for came, report in string.gmatch(fields[i + 1], '(%d+) ([^\\n]+)') do
        reply[#reply + 1] = us(now - tonumber(came))
        reply[#reply + 1] = report
      end
    end
  end
  if does == 'p' then
    redis.call('HSET', key, 'all', us(now) .. ' ' .. string.match(text, '^[^\\n]*'))
    for to, own in string.gmatch(text, '\\n(%S+) ([^\\n]*)') do redis.call('HSET', key, 'to:' .. to, own) end
  end
else
  if does == 'r' then
    local kept = redis.call('HGET', key, 'from:' .. me) or ''
    if #kept > MOST_KEPT then kept = '' end
    redis.call('HSET', key, 'from:' .. me, kept .. us(now) .. ' ' .. text .. '\\n')
  end
  reply = {0}
  local own = redis.call('HGET', key, 'to:' .. me)
  local came, all = string.match(redis.call('HGET', key, 'all') or '', '^(%d+) (.*)$')
  if own and came then
    redis.call('HDEL', key, 'to:' .. me)
    reply = {0, us(now - tonumber(came)), own, all}
  end
end
redis.call('PEXPIRE', key, KEEP_MS)
return reply
`
