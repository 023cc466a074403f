import Glibc
import MartletImages
import TestSupport
import Testing

@Suite("Refused color profiles", .timeLimit(.minutes(5)))
struct ColorProfileTests {
  /// Returns the picture with a color profile: segments APP2 right after its beginning (ICC.1 Annex B.4).
  static func jpeg(_ name: String = "baseline.jpg", profile: [UInt8]) throws -> Data {
    let parts = stride(from: 0, to: profile.count, by: 65_000).map { profile[$0..<min($0 + 65_000, profile.count)] }
    var segments: [UInt8] = []
    for (index, part) in parts.enumerated() {
      let length = part.count + 16
      segments += [0xFF, 0xE2, UInt8(length >> 8), UInt8(length & 255)] + Array("ICC_PROFILE\0".utf8)
      segments += [UInt8(index + 1), UInt8(parts.count)] + part
    }
    var data = try Fixture.data(name)
    data.insert(contentsOf: segments, at: 2)
    return data
  }

  /// A file of a few hundred bytes, once compressed, whose conversion would take minutes.
  @Test(arguments: ["D2B0", "D2B1", "B2D0", "A2B0"])
  func profileWithElementsThatShareOnePlaceIsNotApplied(_ tag: String) throws {
    let profile = ProfileScript(tags: [(tag, ProfileScript.stages(2000))]).bytes
    let plain = try ImageDecoder.decode(Fixture.data("baseline.jpg"))

    #expect(try ImageDecoder.decode(Self.jpeg(profile: profile)) == plain)
    #expect(try ImageDecoder.info(Self.jpeg(profile: profile)).profileRefusal?.contains("mpet") == true)
  }

  @Test func profileThatIsTooLongIsNotApplied() throws {
    let profile = try Fixture.data("adobe-rgb.jpg")[ColorTests.profile(in: Fixture.data("adobe-rgb.jpg"))]
    for (length, isApplied) in [(64 << 10, true), (64 << 10 + 1, false)] {
      let padded = Array(profile) + [UInt8](repeating: 0, count: length - profile.count)
      let data = try Self.jpeg(profile: padded)
      #expect(try (ImageDecoder.decode(data) != ImageDecoder.decode(Fixture.data("baseline.jpg"))) == isApplied)
      #expect(try ImageDecoder.info(data).profileRefusal?.contains("65536 bytes") == (isApplied ? nil : true))
      #expect(try ImageDecoder.info(Self.png(profile: padded)).profileRefusal == ImageDecoder.info(data).profileRefusal)
    }
  }

  @Test(arguments: Fixture.allNames)
  func profilesOfCamerasAndPrintersAreNotRefused(_ name: String) throws {
    #expect(try ImageDecoder.info(Fixture.data(name)).profileRefusal == nil)
  }

  /// MARTLET_PROFILES=2500 MARTLET_PROFILE_MILLISECONDS=50 is the slow check: 10,000 profiles on an idle machine. The
  /// time is the processor's.
  @Test(arguments: ["adobe-rgb.jpg", "srgb.jpg", "grey-profile.jpg", "cmyk-profile.jpg"])
  func mutatedProfileTakesNoLongTime(_ name: String) throws {
    let original = try Fixture.data(name)
    let profile = Array(original[try ColorTests.profile(in: original)])
    let others = [profile, ProfileScript(tags: [("D2B0", ProfileScript.stages(9))]).bytes]
    var random = SeededGenerator(seed: UInt64(profile.count))
    var longest = Duration.zero

    for _ in 0..<Self.number("MARTLET_PROFILES", or: 20) {
      let data = try Self.jpeg(name, profile: Mutation.mutated(profile, from: others, using: &random))
      let start = Self.processorTime
      _ = try ImageDecoder.decode(data)
      longest = max(longest, Self.processorTime - start)
    }

    #expect(longest < .milliseconds(Self.number("MARTLET_PROFILE_MILLISECONDS", or: 1000)))
  }

  private static func number(_ name: String, or usual: Int) -> Int {
    ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
  }

  private static var processorTime: Duration {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
  }

  /// Returns a picture in PNG with a color profile, which is stored without compression (RFC 1950, RFC 1951 §3.2.4).
  private static func png(profile: [UInt8]) throws -> Data {
    var stream: [UInt8] = [0x78, 1]
    for start in stride(from: 0, to: profile.count, by: 60_000) {
      let part = profile[start..<min(start + 60_000, profile.count)]
      let length = [UInt8(part.count & 255), UInt8(part.count >> 8)]
      stream += [part.endIndex == profile.count ? 1 : 0] + length + length.map { ~$0 } + part
    }
    var (low, high) = (1, 0)
    for byte in profile {
      low = (low + Int(byte)) % 65521
      high = (high + low) % 65521
    }
    stream += ProfileScript.number(high << 16 | low)
    let chunk = Array("iCCP".utf8) + Array("name".utf8) + [0, 0] + stream
    var data = try Fixture.data("rgba.png")
    data.insert(contentsOf: ProfileScript.number(chunk.count - 4) + chunk + [0, 0, 0, 0], at: 33)
    return data
  }
}

/// A color profile, written tag by tag (ICC.1 §7).
struct ProfileScript {
  var space = "RGB "
  var tags: [(signature: String, element: [UInt8])] = []

  /// An element that repeatedly lists one matrix, which halves all values (`mpet`, ICC.1 §10.18).
  static func stages(_ count: Int) -> [UInt8] {
    let place = 16 + 8 * count
    var element = Array("mpet".utf8) + number(0) + [0, 3, 0, 3] + number(count)
    for _ in 0..<count { element += number(place) + number(60) }
    element += Array("matf".utf8) + number(0) + [0, 3, 0, 3]
    for index in 0..<12 { element += number(Int((index % 4 == 0 && index < 9 ? Float(0.5) : 0).bitPattern)) }
    return element
  }

  var bytes: [UInt8] {
    var table = Self.number(tags.count)
    var elements: [UInt8] = []
    let start = 128 + 4 + 12 * tags.count
    for (signature, element) in tags {
      table += Array(signature.utf8) + Self.number(start + elements.count) + Self.number(element.count)
      elements += element + [UInt8](repeating: 0, count: (4 - element.count % 4) % 4)
    }
    var header = Self.number(start + elements.count) + Self.number(0) + [4, 0x30, 0, 0]
    header += Array("mntr".utf8) + Array(space.utf8) + Array("XYZ ".utf8)
    header += [UInt8](repeating: 0, count: 12) + Array("acsp".utf8)
    header += [UInt8](repeating: 0, count: 28) + Self.number(0xF6D6) + Self.number(0x10000) + Self.number(0xD32D)
    header += [UInt8](repeating: 0, count: 128 - header.count)
    return header + table + elements
  }

  static func number(_ value: Int) -> [UInt8] {
    [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
  }
}
