import MartletRedis

let redis = RedisClient(try RedisConfiguration("unix:///nonexistent/socket"))
print((try? await redis.ping()) == nil, redis)
