/// The operations of the server on the entries of a key, each in one step.
///
/// All entries of a key are in one hash: the field `h` and the variant contains the head (``CacheRecord``), the field
/// `b` and the variant a small body. Chunks of a larger body are separate keys in the same slot. Chunks of a replaced
/// or removed entry stay for a while, for processes that are reading them.
enum CacheScripts {
  /// Functions for all scripts. The first argument is the prefix of the names of chunks, the second is how many
  /// milliseconds chunks without an entry stay. A value of another type under a name of this cache is removed: it would
  /// make each later script fail.
  private static let common = """
    local key, chunks, grace = KEYS[1], ARGV[1], ARGV[2]
    local function known(record) return record and #record > 37 and string.byte(record, 1) == 1 end
    local function chunk(id, index)
      return chunks .. string.gsub(id, '.', function(c) return string.format('%02x', string.byte(c)) end) .. ':' .. index
    end
    local function count(record) return (struct.unpack('>I4', string.sub(record, 26, 29))) end
    local function release(record)
      if not known(record) then return end
      local id = string.sub(record, 2, 17)
      for index = 0, count(record) - 1 do redis.call('PEXPIRE', chunk(id, index), grace) end
    end
    local function keep(record, life)
      local id = string.sub(record, 2, 17)
      for index = 0, count(record) - 1 do
        if redis.call('PEXPIRE', chunk(id, index), life + grace) == 0 then return false end
      end
      return true
    end
    local function removeForeign()
      local kind = redis.call('TYPE', key).ok
      if kind ~= 'hash' and kind ~= 'none' then redis.call('DEL', key) end
    end
    local function live(life)
      if redis.call('PTTL', key) < tonumber(life) then redis.call('PEXPIRE', key, life) end
    end

    """

  /// Adds an entry, replacing the one with its variant. Arguments: variant, record, body (empty if there are chunks),
  /// life. Returns 0, and changes nothing, if a chunk is missing.
  static let commit = RedisScript(
    common + """
      local variant, record, body, life = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
      removeForeign()
      if not keep(record, life) then
        release(record)
        return 0
      end
      release(redis.call('HGET', key, 'h' .. variant))
      redis.call('HSET', key, 'h' .. variant, record)
      if body == '' then redis.call('HDEL', key, 'b' .. variant) else redis.call('HSET', key, 'b' .. variant, body) end
      live(life)
      return 1
      """)

  /// Replaces the head of an entry. Arguments: old variant, new variant, record, life. Returns 0 if there is no such
  /// entry.
  static let update = RedisScript(
    common + """
      local before, variant, record, life = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
      local stored = redis.call('HGET', key, 'h' .. before)
      if not known(stored) or string.sub(stored, 2, 17) ~= string.sub(record, 2, 17) then return 0 end
      if before ~= variant then
        release(redis.call('HGET', key, 'h' .. variant))
        local body = redis.call('HGET', key, 'b' .. before)
        redis.call('HDEL', key, 'h' .. before, 'b' .. before, 'b' .. variant)
        if body then redis.call('HSET', key, 'b' .. variant, body) end
      end
      redis.call('HSET', key, 'h' .. variant, record)
      keep(record, life)
      live(life)
      return 1
      """)

  /// Removes an entry. Arguments: variant, identifier.
  static let remove = RedisScript(
    common + """
      local stored = redis.call('HGET', key, 'h' .. ARGV[3])
      if not known(stored) or string.sub(stored, 2, 17) ~= ARGV[4] then return 0 end
      release(stored)
      return redis.call('HDEL', key, 'h' .. ARGV[3], 'b' .. ARGV[3])
      """)

  /// Removes the entries of a key that were received before a time, in seconds since 2001; all if the time is empty.
  static let clear = RedisScript(
    common + """
      local before = tonumber(ARGV[3])
      removeForeign()
      for _, field in ipairs(redis.call('HKEYS', key)) do
        if string.sub(field, 1, 1) == 'h' then
          local record = redis.call('HGET', key, field)
          local isOld = not before or not known(record) or struct.unpack('>d', string.sub(record, 18, 25)) < before
          if isOld then
            release(record)
            redis.call('HDEL', key, field, 'b' .. string.sub(field, 2))
          end
        end
      end
      if not before then redis.call('DEL', key) end
      return 1
      """)

  /// Returns the number of entries of a key, and the bytes of their heads and bodies.
  static let measure = RedisScript(
    common + """
      local entries, bytes = 0, 0
      if redis.call('TYPE', key).ok ~= 'hash' then return {entries, bytes} end
      for _, field in ipairs(redis.call('HKEYS', key)) do
        if string.sub(field, 1, 1) == 'h' then
          local record = redis.call('HGET', key, field)
          if known(record) then
            entries = entries + 1
            bytes = bytes + #record + struct.unpack('>I8', string.sub(record, 30, 37))
          end
        end
      end
      return {entries, bytes}
      """)
}
