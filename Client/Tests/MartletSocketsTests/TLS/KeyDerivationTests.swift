import COpenSSL
import MartletEngine
import MartletSemantics
import MartletTesting
import TestServers
import Testing

@testable import MartletSockets

/// The time for which a client certificate may occupy a thread: it specifies the number of steps in which keys are
/// derived from passwords.
@Suite(.timeLimit(.minutes(5)))
struct KeyDerivationTests {
  private let trust: MemoryTrust
  private let client: MemoryIdentity
  private var folder: TemporaryFolder { trust.folder }
  private static let password = "correct horse"

  init() throws {
    trust = try MemoryTrust()
    client = try trust.authority.server(nil, subject: "client", purpose: "clientAuth")
    try folder.write(client.pem, to: "client.pem")
    try folder.write(client.keyPEM(), to: "client.key")
  }

  private func openssl(_ arguments: String) throws {
    try RealProcess.run(
      "openssl", arguments.split(separator: " ").map(String.init) + ["-passout", "pass:" + Self.password],
      in: folder.url)
  }

  private func failure(_ certificate: ClientCertificate) -> HTTPError? {
    var settings = trust.settings
    settings.clientCertificate = certificate
    do throws(HTTPError) {
      _ = try TLSContext(settings)
      return nil
    } catch { return error }
  }

  /// The number 65538 in DER, which is nowhere else in these containers, and numbers of the same length.
  private static let marker = Data([2, 3, 1, 0, 2])
  private static let most = Data([2, 3, 0x4C, 0x4B, 0x40])
  private static let more = Data([2, 3, 0x7F, 0xFF, 0xFF])

  /// The content with another number in place of one of the markers.
  private static func replacing(_ place: Int, in data: Data, with number: Data) throws -> Data {
    var data = data
    var range = data.startIndex..<data.startIndex
    for _ in 0...place { range = try #require(data[range.upperBound...].firstRange(of: marker)) }
    data.replaceSubrange(range, with: number)
    return data
  }

  private func expectTooManySteps(_ certificate: ClientCertificate, _ count: String = "8388607") {
    let error = failure(certificate)
    #expect(error?.kind == .badClientCertificate)
    #expect(error?.message.contains(count) == true, "\(String(describing: error))")
    #expect(error?.message.contains("5000000") == true)
  }

  private func container(_ options: String) throws -> Data {
    try openssl("pkcs12 -export -in client.pem -inkey client.key -out some.p12 \(options)")
    return try Data(contentsOf: folder.file("some.p12"))
  }

  /// The places: the certificates, the key, and the checksum.
  @Test(arguments: ["", "-certpbe PBE-SHA1-3DES -keypbe PBE-SHA1-3DES -macalg sha1", "-legacy"], 0..<3)
  func aContainerWithTooManyStepsIsRefused(_ options: String, _ place: Int) throws {
    let data = try container("-iter 65538 " + options)
    #expect(failure(.pkcs12(data: data, password: Self.password)) == nil)

    let hostile = try Self.replacing(place, in: data, with: Self.more)
    expectTooManySteps(.pkcs12(data: hostile, password: Self.password))
  }

  @Test func aContainerThatIsWellProtectedIsOpened() throws {
    #expect(failure(.pkcs12(data: try container("-iter 300000"), password: Self.password)) == nil)
  }

  @Test func aContainerWithTheMostStepsIsNotRefusedForThem() throws {
    let data = try Self.replacing(2, in: container("-iter 65538"), with: Self.most)
    #expect(failure(.pkcs12(data: data, password: Self.password))?.kind == .badClientCertificatePassword)
  }

  @Test func aKeyInPEMWithTooManyStepsIsRefused() throws {
    let keys = [
      ("-v2 aes256 -iter 65538", "8388607"), ("-scrypt -scrypt_N 8 -scrypt_r 1 -scrypt_p 65538", "67108856"),
    ]
    for (options, count) in keys {
      try openssl("pkcs8 -topk8 -in client.key -out locked.der -outform DER \(options)")
      let key = try Self.replacing(0, in: Data(contentsOf: folder.file("locked.der")), with: Self.more)
      let lines = key.base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
      try folder.write(
        Data("-----BEGIN ENCRYPTED PRIVATE KEY-----\n\(lines)\n-----END ENCRYPTED PRIVATE KEY-----\n".utf8),
        to: "locked.key")
      expectTooManySteps(
        .pem(certificate: folder.file("client.pem"), key: folder.file("locked.key"), password: Self.password), count)
    }
  }

  /// The key is in a part of the container that is itself encrypted.
  @Test func aKeyWithTooManyStepsInsideOfAnEncryptedPartIsRefused() throws {
    var (bags, parts): (OpaquePointer?, OpaquePointer?) = (nil, nil)
    let cipher = NID_pbe_WithSHA1And3_Key_TripleDES_CBC
    let bag = try #require(PKCS12_add_key(&bags, client.key, 0, 10, cipher, Self.password))
    var algorithm: UnsafeMutablePointer<X509_ALGOR>?
    var content: UnsafeMutablePointer<ASN1_OCTET_STRING>?
    let key = try #require(PKCS12_SAFEBAG_get0_pkcs8(bag))
    X509_SIG_getm(key, &algorithm, &content)
    let hostile = try #require(PKCS5_pbe_set(cipher, 8_388_607, nil, 0))
    X509_ALGOR_copy(algorithm, hostile)
    PKCS12_add_cert(&bags, client.certificate)
    PKCS12_add_safe(&parts, bags, cipher, 10, Self.password)
    let container = try #require(PKCS12_add_safes(parts, 0))
    PKCS12_set_mac(container, Self.password, -1, nil, 0, 10, EVP_sha256())
    let data = MemoryIdentity.output { i2d_PKCS12_bio($0, container) }

    expectTooManySteps(.pkcs12(data: data, password: Self.password))
  }

  /// The checksum takes seconds, and then turns out to be wrong.
  @Test func aRequestDoesNotWaitForAKeyLongerThanForItsConnection() async throws {
    var configuration = ConnectionConfiguration()
    configuration.proxy = .direct
    configuration.connectTimeout = .zero
    let data = try Self.replacing(2, in: container("-iter 65538"), with: Self.most)
    configuration.tls.clientCertificate = .pkcs12(data: data, password: Self.password)
    let transport = SocketTransport(configuration)
    let url = try #require(URL(string: "https://127.0.0.1:1/"))

    let error = await #expect(throws: (any Error).self) {
      _ = try await transport.send(HTTPRequest(.get, url), in: Call())
    }

    #expect((error as? HTTPError)?.kind == .connectTimeout, "\(String(describing: error))")
  }
}
