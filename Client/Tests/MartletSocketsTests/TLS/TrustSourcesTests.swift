import MartletEngine
import MartletSemantics
import MartletTesting
import Testing

@testable import MartletSockets

/// The sources of authorities: settings, environment, the system.
@Suite(.timeLimit(.minutes(5)))
struct TrustSourcesTests {
  private let trust: MemoryTrust
  private let folder: TemporaryFolder

  init() throws {
    trust = try MemoryTrust()
    folder = trust.folder
    try FileManager.default.createDirectory(at: folder.file("hashed"), withIntermediateDirectories: true)
    try FileManager.default.createDirectory(at: folder.file("plain"), withIntermediateDirectories: true)
    try folder.write(trust.authority.identity.pem, to: "hashed/\(trust.authority.identity.subjectHash).0")
    try folder.write(trust.authority.identity.pem, to: "plain/authority.pem")
    try folder.write(Data("no certificate\n".utf8), to: "empty.pem")
  }

  /// A system whose folders and files are in this test's folder.
  private func system(
    folders: [String] = [], files: [String] = [], namedFile: String? = nil, namedFolders: [String]? = nil
  ) -> SystemAuthorities {
    SystemAuthorities(
      namedFile: namedFile.map { folder.file($0).path },
      namedFolders: namedFolders.map { $0.map { folder.file($0).path }.joined(separator: ":") },
      folders: folders.map { folder.file($0).path }, files: files.map { folder.file($0).path })
  }

  private func failure(
    _ system: SystemAuthorities, host: String = "example.com", _ change: (inout TLSSettings) -> Void = { _ in }
  ) throws -> HTTPError? {
    var settings = TLSSettings()
    change(&settings)
    do {
      let context = try TLSContext(settings, system: system)
      try trust.connection(host: host, context: context).shakeHands()
      return nil
    } catch { return try #require(error as? HTTPError) }
  }

  // MARK: - The system's authorities

  @Test func aFolderOfHashedNamesIsSearched() throws {
    let system = system(folders: ["nowhere", "plain", "hashed"], files: ["authority.pem"])
    #expect(system.sources.folders == [folder.file("hashed").path])
    #expect(system.sources.files.isEmpty)
    #expect(try failure(system) == nil)
  }

  @Test func withoutHashedNamesTheFileIsRead() throws {
    let system = system(folders: ["plain"], files: ["nowhere.pem", "authority.pem"])
    #expect(system.sources.folders.isEmpty)
    #expect(system.sources.files.map(\.path) == [folder.file("authority.pem").path])
    #expect(try failure(system) == nil)
  }

  @Test func aSystemWithoutAuthoritiesTrustsNothing() throws {
    let error = try failure(system(folders: ["plain"]))
    #expect(error?.kind == .untrustedCertificate)
    #expect(error?.message.contains("this system has none in the usual places") == true)
  }

  @Test func thisSystemHasAuthorities() throws {
    let sources = SystemAuthorities.current.sources
    #expect(!sources.files.isEmpty || !sources.folders.isEmpty)
    _ = try TLSContext(TLSSettings())
  }

  @Test func anAuthorityThatIsAddedToTheFolderIsFound() throws {
    let other = try MemoryAuthority()
    let identity = try other.server("DNS:example.com")
    let context = try TLSContext(TLSSettings(), system: system(folders: ["hashed"]))
    #expect(throws: HTTPError.self) { try trust.connection(to: identity, context: context).shakeHands() }

    try folder.write(other.identity.pem, to: "hashed/\(other.identity.subjectHash).0")
    try trust.connection(to: identity, context: context).shakeHands()
  }

  // MARK: - The environment's authorities

  @Test func theNamedFileReplacesTheSystemsFile() throws {
    let stranger = try MemoryAuthority()
    try folder.write(stranger.identity.pem, to: "stranger.pem")
    #expect(try failure(system(files: ["stranger.pem"], namedFile: "authority.pem")) == nil)
    #expect(try failure(system(files: ["authority.pem"], namedFile: "stranger.pem"))?.kind == .untrustedCertificate)
    // as with OpenSSL, the folder is still searched
    #expect(try failure(system(folders: ["hashed"], namedFile: "stranger.pem")) == nil)
  }

  @Test func theNamedFoldersReplaceTheSystemsFolderAndFile() throws {
    #expect(try failure(system(namedFolders: ["nowhere", "hashed"])) == nil)
    #expect(
      try failure(system(folders: ["hashed"], files: ["authority.pem"], namedFolders: ["plain"]))?.kind
        == .untrustedCertificate)
    #expect(try failure(system(namedFile: "authority.pem", namedFolders: ["plain"])) == nil)
  }

  @Test func aNamedFileThatCannotBeReadIsNamedWithItsVariable() throws {
    let error = try failure(system(folders: ["hashed"], namedFile: "nowhere.pem"))
    #expect(error?.kind == .tlsFailed)
    #expect(error?.message.contains("nowhere.pem' (named by SSL_CERT_FILE) cannot be read") == true)
  }

  // MARK: - The settings' authorities

  @Test func ownAuthoritiesReplaceTheSystems() throws {
    let stranger = try MemoryAuthority()
    try folder.write(stranger.identity.pem, to: "stranger.pem")
    for system in [system(folders: ["hashed"]), system(files: ["authority.pem"])] {
      #expect(try failure(system) { $0.authorities = folder.file("stranger.pem") }?.kind == .untrustedCertificate)
      #expect(try failure(system) { $0.additionalAuthorities = folder.file("stranger.pem") } == nil)
      #expect(
        try failure(system) {
          $0.authorities = folder.file("stranger.pem")
          $0.additionalAuthorities = folder.file("authority.pem")
        } == nil)
    }
    #expect(try failure(system()) { $0.additionalAuthorities = folder.file("authority.pem") } == nil)
  }

  @Test(arguments: ["/nowhere/authority.pem", "empty.pem", "damaged.pem", "cut.pem", "."])
  func aFileThatCannotBeReadIsNamed(name: String) throws {
    let pem = String(decoding: trust.authority.identity.pem, as: UTF8.self)
    var lines = pem.split(separator: "\n")
    lines[1] = "AAAA" + lines[1].dropFirst(4)
    try folder.write(Data((pem + lines.joined(separator: "\n")).utf8), to: "damaged.pem")
    try folder.write(Data((pem + pem.prefix(200)).utf8), to: "cut.pem")
    let file = name.hasPrefix("/") ? URL(filePath: name) : folder.file(name)
    for change in [{ $0.authorities = file }, { $0.additionalAuthorities = file }] as [(inout TLSSettings) -> Void] {
      let error = try failure(system(files: ["authority.pem"]), change)
      #expect(error?.kind == .tlsFailed)
      #expect(error?.phase == .preparing)
      #expect(error?.message.contains("'\(file.path)' cannot be read") == true, "\(String(describing: error))")
    }
  }

  @Test func aFileMayHaveSeveralAuthoritiesAndText() throws {
    let others = try (0..<3).map { _ in try MemoryAuthority().identity.pem }
    var text = Data("# a comment\n".utf8)
    for pem in others + [trust.authority.identity.pem] { text += pem + Data("\nmore text\n".utf8) }
    try folder.write(text, to: "several.pem")
    #expect(try failure(system()) { $0.authorities = folder.file("several.pem") } == nil)
  }

  // MARK: - Once per process

  @Test func aFileIsReadOnceUnlessItChanges() throws {
    var settings = TLSSettings()
    settings.authorities = folder.file("authority.pem")
    let sources = TrustSources(settings, system: system())
    let first = try TrustStore.shared(sources)
    #expect(try TrustStore.shared(sources) === first)

    try folder.write(MemoryAuthority().identity.pem + trust.authority.identity.pem, to: "authority.pem")
    #expect(try TrustStore.shared(sources) !== first)
  }
}
