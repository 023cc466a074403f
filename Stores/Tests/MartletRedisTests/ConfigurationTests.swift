import MartletSemantics
import Testing

@testable import MartletRedis

@Suite struct ConfigurationTests {
  @Test(arguments: [
    ("redis://cache", RedisConfiguration.Address.host("cache", port: 6379), "", "", 0),
    ("redis://cache:7000/3", .host("cache", port: 7000), "", "", 3),
    ("redis://:secret@cache/1", .host("cache", port: 6379), "", "secret", 1),
    ("redis://anna:a%40b@10.0.0.1:6380", .host("10.0.0.1", port: 6380), "anna", "a@b", 0),
    ("redis://:a|%20b%25@cache", .host("cache", port: 6379), "", "a| b%", 0),
    ("unix:///tmp/a b%20c?db=1", .socket(path: "/tmp/a b c"), "", "", 1),
    ("redis://[::1]:6380/2", .host("::1", port: 6380), "", "", 2),
    ("unix:///run/redis/socket", .socket(path: "/run/redis/socket"), "", "", 0),
    ("unix:///run/redis/socket?db=4", .socket(path: "/run/redis/socket"), "", "", 4),
  ])
  func aURLSaysWhereTheServerIs(
    url: String, address: RedisConfiguration.Address, user: String, password: String, database: Int
  ) throws {
    let configuration = try RedisConfiguration(url)
    #expect(configuration.address == address)
    #expect(configuration.user == user)
    #expect(configuration.password == password)
    #expect(configuration.database == database)
  }

  @Test(arguments: [
    "", "cache:6379", "http://cache", "rediss://:secret@cache", "redis://", "redis://:secret@",
    "redis://:secret@cache:0",
    "redis://:a/secret@cache", "redis://cache/secret", "redis://:secret@cache/x", "redis://cache/-1", "unix://",
    "unix:///", "unix:///socket?db=x",
  ])
  func anUnusableURLIsRefusedWithoutItsPassword(url: String) {
    let error = #expect(throws: RedisError.self) { try RedisConfiguration(url) }
    #expect(error?.kind == .invalidURL)
    #expect(error?.message.contains("secret") == false)
    #expect(error?.message.contains("use") == true)
  }

  @Test func userAndPasswordAreNotDescribed() throws {
    let configuration = try RedisConfiguration("redis://anna:secret@cache:7000/3")
    let client = RedisClient(configuration)
    var dumped = ""
    dump(configuration, to: &dumped)
    dump(client, to: &dumped)
    for text in ["\(configuration)", String(reflecting: configuration), "\(client)", dumped] {
      #expect(!text.contains("secret") && !text.contains("anna"), "\(text)")
      #expect(text.contains("redis://cache:7000/3"), "\(text)")
    }
  }

  @Test func aCommandIsAnArrayOfBulkStrings() {
    var bytes: [UInt8] = []
    RedisCommand("SET", [Data("a".utf8), Data([0, 13, 10, 255]), Data()]).write(to: &bytes)
    #expect(
      bytes == Array("*4\r\n$3\r\nSET\r\n$1\r\na\r\n$4\r\n".utf8) + [0, 13, 10, 255] + Array("\r\n$0\r\n\r\n".utf8))
  }

  @Test func aPatternMatchesAPrefixLiterally() {
    #expect(RedisClient.literal("a*b?[c]\\d") == "a\\*b\\?\\[c\\]\\\\d")
  }
}
