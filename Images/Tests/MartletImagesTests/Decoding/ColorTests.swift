import MartletImages
import Testing

@Suite("Color profiles", .timeLimit(.minutes(5)))
struct ColorTests {
  /// A JPEG's profile has its own segment: the marker, two bytes of length, `ICC_PROFILE`, 0, 1, 1.
  static func profile(in data: Data) throws -> Range<Data.Index> {
    let name = try #require(data.firstRange(of: Data("ICC_PROFILE\0".utf8)))
    let start = name.lowerBound - 2
    return name.upperBound + 2..<start + Int(data[start]) << 8 + Int(data[start + 1])
  }

  private func withoutProfile(_ data: Data) throws -> Bitmap {
    var data = data
    let name = try #require(data.firstRange(of: Data("ICC_PROFILE\0".utf8)))
    data[name.lowerBound] = 0x58
    return try ImageDecoder.decode(data)
  }

  @Test(
    "Colors of other profiles are converted to sRGB",
    arguments: [
      "adobe-rgb.jpg", "grey-profile.jpg", "cmyk-profile.jpg",
    ])
  func colorsOfOtherProfilesAreConvertedToSRGB(_ name: String) throws {
    let data = try Fixture.data(name)

    #expect(try ImageDecoder.decode(data) != withoutProfile(data))
  }

  @Test(arguments: ["adobe-rgb.jpg", "grey-profile.jpg", "cmyk-profile.jpg"])
  func brokenProfileIsIgnored(_ name: String) throws {
    let data = try Fixture.data(name)
    let place = try Self.profile(in: data)

    var broken = data
    broken.replaceSubrange(place, with: Data(repeating: 0x41, count: place.count))
    var foreign = data
    // The color space in the profile's header: one for other pixels.
    foreign.replaceSubrange(place.lowerBound + 16..<place.lowerBound + 20, with: Data("HSV ".utf8))

    #expect(try ImageDecoder.decode(broken) == withoutProfile(data))
    #expect(try ImageDecoder.decode(foreign) == withoutProfile(data))
  }

  @Test
  func profileWithAMissingChunkIsIgnored() throws {
    let data = try Fixture.data("adobe-rgb.jpg")
    var cut = data
    cut[try Self.profile(in: data).lowerBound - 1] = 2

    #expect(try ImageDecoder.decode(cut) == withoutProfile(data))
  }

  @Test
  func profileOfSRGBChangesNothing() throws {
    let marked = try Fixture.data("srgb.jpg")

    #expect(try ImageDecoder.decode(marked) == withoutProfile(marked))
  }

  @Test(arguments: ["display-p3.png", "grey-profile.png", "adobe-rgb.webp"])
  func conversionKeepsAlpha(_ name: String) throws {
    let bitmap = try ImageDecoder.decode(Fixture.data(name))

    #expect(bitmap.pixels[3] == 255 && bitmap.pixels[36 * 4 + 3] == 128)
  }
}
