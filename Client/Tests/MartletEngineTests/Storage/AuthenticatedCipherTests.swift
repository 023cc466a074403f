import Foundation
@_spi(Toolkit) import MartletEngine
import Testing

@Suite("AES-256-GCM") struct AuthenticatedCipherTests {
  /// A test case of McGrew and Viega, "The Galois/Counter Mode of Operation", appendix B.
  struct Case: Sendable {
    let number: Int
    let key, nonce, context, text, sealed: String
  }

  private static let key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"
  private static let text = """
    d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525\
    b16aedf5aa0de657ba637b39
    """
  private static let sealed = """
    522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838\
    c5f61e6393ba7a0abcc9f662
    """

  static let cases = [
    Case(
      number: 13, key: String(repeating: "0", count: 64), nonce: String(repeating: "0", count: 24), context: "",
      text: "",
      sealed: "530f8afbc74536b9a963b4f1c4cb738b"),
    Case(
      number: 14, key: String(repeating: "0", count: 64), nonce: String(repeating: "0", count: 24), context: "",
      text: String(repeating: "0", count: 32),
      sealed: "cea7403d4d606b6e074ec5d3baf39d18d0d1c8a799996bf0265b98b5d48ab919"),
    Case(
      number: 16, key: key, nonce: "cafebabefacedbaddecaf888", context: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
      text: text, sealed: sealed + "76fc6ece0f4e1768cddf8853bb2d551b"),
  ]

  private func data(_ digits: String) -> Data {
    Data(stride(from: 0, to: digits.utf8.count, by: 2).compactMap { UInt8(digits.dropFirst($0).prefix(2), radix: 16) })
  }

  @Test(arguments: cases) func thePublishedTestCasesHold(_ it: Case) {
    let sealed = AuthenticatedCipher.seal(
      data(it.text), key: data(it.key), nonce: data(it.nonce), authenticating: data(it.context))
    #expect(sealed == data(it.sealed))
    let opened = AuthenticatedCipher.open(
      data(it.sealed), key: data(it.key), nonce: data(it.nonce), authenticating: data(it.context))
    #expect(opened == data(it.text))
  }

  @Test func anyChangedByteOfAnythingIsNoticed() {
    let it = Self.cases[2]
    func changes(_ data: Data) -> [Data] {
      data.indices.map { index in
        var copy = data
        copy[index] ^= 0x40
        return copy
      }
    }
    let (sealed, key, nonce, context) = (data(it.sealed), data(it.key), data(it.nonce), data(it.context))
    for other in changes(sealed) + [Data(), sealed.dropLast(), sealed + [0]] {
      #expect(AuthenticatedCipher.open(Data(other), key: key, nonce: nonce, authenticating: context) == nil)
    }
    for other in changes(key) + [Data(key.prefix(16))] {
      #expect(AuthenticatedCipher.open(sealed, key: other, nonce: nonce, authenticating: context) == nil)
    }
    for other in changes(nonce) + [nonce + [0]] {
      #expect(AuthenticatedCipher.open(sealed, key: key, nonce: other, authenticating: context) == nil)
    }
    for other in changes(context) + [Data()] {
      #expect(AuthenticatedCipher.open(sealed, key: key, nonce: nonce, authenticating: other) == nil)
    }
  }

  @Test func aKeyOrNonceOfAnotherLengthSealsNothing() {
    #expect(
      AuthenticatedCipher.seal(Data(), key: Data(count: 16), nonce: Data(count: 12), authenticating: Data()) == nil)
    #expect(
      AuthenticatedCipher.seal(Data(), key: Data(count: 32), nonce: Data(count: 16), authenticating: Data()) == nil)
  }
}
