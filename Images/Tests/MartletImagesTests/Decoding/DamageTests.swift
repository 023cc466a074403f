import MartletImages
import TestSupport
import Testing

@Suite("Truncated, damaged and hostile files", .timeLimit(.minutes(5)))
struct DamageTests {
  /// A JPEG without its end marker and a GIF that ends after a frame are complete.
  @Test(arguments: Fixture.allNames)
  func fileTruncatedAnywhereIsAnErrorAndNeverAPartialImage(_ name: String) throws {
    let data = try Fixture.data(name)
    let whole = try ImageDecoder.decode(data)
    let lengths = Set(stride(from: 0, to: data.count, by: max(1, data.count / 200))).union([data.count - 1])

    for length in lengths {
      let expected: [ImageError.Kind] = length == 0 ? [.empty] : length < 4 ? [.truncated, .notAnImage] : [.truncated]
      do {
        let bitmap = try ImageDecoder.decode(data.prefix(length))
        let ends = [".gif": data.count, ".jpg": 2]
        #expect(bitmap == whole && data.count - length <= ends[String(name.suffix(4))] ?? 0)
      } catch {
        #expect(expected.contains(error.kind), "truncated to \(length) of \(data.count): \(error)")
      }
    }
  }

  @Test(arguments: ["baseline.jpg", "coffee.jpg", "rgba.png", "lossy.webp", "lossless-alpha.webp", "animated.webp"])
  func beginningOfAFileIsEnoughForItsSize(_ name: String) throws {
    let data = try Fixture.data(name)
    let length = name == "coffee.jpg" ? 2000 : data.count * 9 / 10

    #expect(try ImageDecoder.info(data.prefix(length)).size == ImageDecoder.info(data).size)
  }

  @Test(arguments: Fixture.smallNames)
  func mutatedFileGivesAnImageOfTheDeclaredSizeOrAnError(_ name: String) throws {
    let original = try Fixture.data(name)
    let others = try Fixture.smallNames.filter { $0.suffix(4) == name.suffix(4) }.map(Fixture.data)
    var random = SeededGenerator(seed: UInt64(original.count))
    let limits = ImageDecoder.Limits(pixels: 1_000_000, bytes: 4_000_000, animationPixels: 1_000_000)
    let box = PixelSize(width: 9, height: 9)
    let encodings: [ImageEncoding] = [.png, .webP(), .losslessWebP, .jpeg(), .jpeg(quality: 95, isProgressive: true)]

    for _ in 0..<20 {
      let data = Mutation.mutated(original, others, using: &random)
      var previews = ProgressiveDecoder(options: .init(limits: limits))
      for start in stride(from: 0, to: data.count, by: 500) { _ = previews.append(data[start...].prefix(500)) }
      let frames = Result { () throws(ImageError) in try ImageDecoder.animation(data, options: .init(limits: limits)) }
      let bitmap: Bitmap
      do {
        bitmap = try ImageDecoder.decode(data, options: .init(limits: limits))
      } catch {
        #expect(!error.message.isEmpty)
        continue
      }
      let small = try ImageDecoder.decode(data, options: .init(fitting: box, limits: limits)).size
      #expect(try ImageDecoder.info(data).size == bitmap.size)
      #expect(small.width <= box.width && small.height <= box.height)
      if case .success(let animation) = frames { #expect(animation.frames.first?.bitmap == bitmap) }
      guard bitmap.pixels.count < 40_000, let encoding = encodings.randomElement(using: &random) else { continue }
      #expect(try ImageDecoder.decode(ImageEncoder.encode(bitmap, as: encoding)).size == bitmap.size)
    }
  }

  @Test(arguments: Fixture.allNames)
  func anyFileCanBeAppendedToAProgressiveDecoderInPieces(_ name: String) throws {
    let data = try Fixture.data(name)
    var decoder = ProgressiveDecoder()

    for start in stride(from: 0, to: data.count, by: 7) { _ = decoder.append(data[start...].prefix(7)) }

    #expect(decoder.data == data)
  }

  @Test(arguments: ["rgba.png", "interlaced.png", "palette.png", "grey16.png"])
  func wrongChecksumOfPNGPixelsIsDamage(_ name: String) throws {
    var data = try Fixture.data(name)
    let pixels = try #require(data.firstRange(of: Data("IDAT".utf8)))
    data[pixels.upperBound + 12] ^= 0x55

    let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(data) }
    #expect(error?.kind == .damaged)
  }

  @Test(arguments: ["coffee.jpg", "baseline.jpg", "cmyk.jpg"])
  func missingPixelsOfAJPEGThatHasItsEndMarkerAreDamage(_ name: String) throws {
    let data = try Fixture.data(name)

    let hollow = data.prefix(data.count * 95 / 100) + Data([0xFF, 0xD9])

    let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(hollow) }
    #expect(error?.kind == .damaged)
  }

  @Test(arguments: ["baseline.jpg", "rgba.png", "lossy.webp"])
  func bytesAfterTheImageAreIgnored(_ name: String) throws {
    let data = try Fixture.data(name)

    #expect(try ImageDecoder.decode(data + Data("trailer \u{FF}".utf8)) == ImageDecoder.decode(data))
  }

  @Test(arguments: ["arithmetic-2x2.jpg", "progressive.jpg", "not-interleaved.jpg"])
  func jpegWhoseMissingPixelsLibjpegDoesNotReportNeedsItsEndMarker(_ name: String) throws {
    let data = try Fixture.data(name)

    let error = #expect(throws: ImageError.self) { try ImageDecoder.decode(data.dropLast(2)) }
    #expect(error?.kind == .truncated)
  }

  @Test
  func fillBytesBeforeAMarkerOfAJPEGAreIgnored() throws {
    let data = try Fixture.data("baseline.jpg")
    let tables = try #require(data.firstRange(of: Data([0xFF, 0xDB])))

    var filled = data
    filled.insert(contentsOf: [0, 0, 0, 0xFF, 0xFF], at: tables.lowerBound)

    #expect(try ImageDecoder.decode(filled) == ImageDecoder.decode(data))
  }

  /// libvips 848 and 1343, Pillow 1328: pictures that browsers show, with bytes before a marker, parameters of a
  /// progressive scan in a sequential one, or a second picture after the first (MPO).
  @Test(arguments: 0..<3)
  func pictureWithAHarmlessDefectIsShown(_ defect: Int) throws {
    let data = try Fixture.data("baseline.jpg")
    let scan = try #require(data.firstRange(of: Data([0xFF, 0xDA]))).lowerBound
    var file = data
    switch defect {
    case 0: file.insert(contentsOf: [UInt8](repeating: 7, count: 24_242), at: scan)
    case 1: file[scan + Int(data[scan + 3]) + 1] = 9
    default: file.append(try Fixture.data("grey.jpg"))
    }

    #expect(try ImageDecoder.decode(file) == ImageDecoder.decode(data))
  }

  /// libjpeg reports its first warning only: here that of the fill bytes, which is harmless.
  @Test
  func fillBytesBeforeAMarkerOfAJPEGDoNotHideTruncationOrDamage() throws {
    var filled = try Fixture.data("baseline.jpg")
    let tables = try #require(filled.firstRange(of: Data([0xFF, 0xDB])))
    filled.insert(contentsOf: [0, 0, 0, 0xFF, 0xFF], at: tables.lowerBound)
    let half = filled.dropLast(100)
    let hollow = half + filled.suffix(2)

    let cut = #expect(throws: ImageError.self) { try ImageDecoder.decode(half) }
    let damaged = #expect(throws: ImageError.self) { try ImageDecoder.decode(hollow) }

    #expect(cut?.kind == .truncated)
    #expect(damaged?.kind == .damaged)
  }
}

/// Damages a file: changes, removes, repeats and replaces bytes.
private enum Mutation {
  /// Makes one to four changes. Some insert pieces of `others`, which are files of the same format.
  static func mutated(_ original: Data, _ others: [Data], using random: inout SeededGenerator) -> Data {
    var bytes = [UInt8](original)
    for _ in 0..<Int.random(in: 1...4, using: &random) {
      let place = Int.random(in: 0..<max(bytes.count, 1), using: &random)
      let piece = place..<min(place + Int.random(in: 1...40, using: &random), bytes.count)
      guard !piece.isEmpty else { break }
      switch Int.random(in: 0..<9, using: &random) {
      case 0: bytes.removeSubrange(piece)
      case 1: bytes.insert(contentsOf: bytes[piece], at: Int.random(in: 0...bytes.count, using: &random))
      case 2: bytes.removeLast(min(piece.count, bytes.count - 1))
      case 3:
        guard let other = others.randomElement(using: &random), !other.isEmpty else { continue }
        let start = Int.random(in: 0..<other.count, using: &random)
        bytes.replaceSubrange(piece, with: other[other.startIndex + start..<other.endIndex].prefix(piece.count))
      case 4: for index in piece { bytes[index] = [0, 0x7F, 0x80, 0xFF][place % 4] }
      case 5, 6: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
      default: bytes[place] = UInt8.random(in: 0...255, using: &random)
      }
    }
    return Data(bytes)
  }
}
