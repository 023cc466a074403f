import CGSSAPI
@_spi(Toolkit) import MartletEngine
import MartletSemantics

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#endif

/// The source of tickets.
struct TicketStore: Sendable {
  /// The credential cache, such as `FILE:/run/user/1000/cc`; nil for the process's.
  let cache: String?
  /// The keytab whose key gets tickets into the cache; nil for the process's, if it has one.
  let keytab: String?
  /// The cache in memory that the store and its copies own; nil if they use another one.
  private let ownCache: MemoryCache?

  /// Makes the store of a cache, of a keytab, or of both. A keytab without a cache gets one in memory.
  init(cache: String?, keytab: String?) {
    ownCache = cache == nil && keytab != nil ? MemoryCache() : nil
    self.cache = cache ?? ownCache?.name
    self.keytab = keytab
  }
}

/// A credential cache in memory. The library has one list of them for the whole process, and keeps each of them until
/// it is destroyed.
private final class MemoryCache: Sendable {
  let name = "MEMORY:martlet-\(UInt64.random(in: 0 ... .max))"

  // Not on this thread: the library reads its configuration first.
  deinit { KerberosTickets.threads.submit { [name] in MemoryCache.destroy(name) } }

  private static func destroy(_ name: String) {
    var context: krb5_context?
    guard krb5_init_context(&context) == 0 else { return }
    defer { krb5_free_context(context) }
    var cache: krb5_ccache?
    if krb5_cc_resolve(context, name, &cache) == 0 { krb5_cc_destroy(context, cache) }
  }
}

/// The client's side of a negotiation with a service by SPNEGO (RFC 4178): the tokens that it sends and receives. Only
/// Kerberos is offered.
///
/// Beginning one reads files and may contact a key distribution centre over the network, so it blocks.
struct Negotiation: ~Copyable {
  /// The mechanism that makes the tokens.
  enum Mechanism {
    case spnego
    /// Kerberos alone. Such a token is not sent to a server: its errors have the codes that SPNEGO hides.
    case kerberos
  }

  private var name: gss_name_t?
  private var credential: gss_cred_id_t?
  private var context: gss_ctx_id_t?
  private let mechanism: Mechanism
  /// The store of the credential: each step checks that the credential's cache still exists.
  private var store: TicketStore?
  /// Whether the service has proved to be the requested one.
  private(set) var isComplete = false

  init(by mechanism: Mechanism) { self.mechanism = mechanism }

  deinit {
    var (minor, name, credential, context) = (UInt32(0), name, credential, context)
    if context != nil { gss_delete_sec_context(&minor, &context, nil) }
    if credential != nil { gss_release_cred(&minor, &credential) }
    if name != nil { gss_release_name(&minor, &name) }
  }

  /// Returns the first token for the service `HTTP@host`.
  mutating func begin(for host: String, with store: TicketStore) throws(KerberosFailure) -> Data {
    self.store = store
    try importName(of: host)
    try acquireCredential(from: store)
    return try step(Data()) ?? Data()
  }

  /// Takes a token of the service. Returns the next one for it; nil if it needs none.
  mutating func step(_ received: Data) throws(KerberosFailure) -> Data? {
    var input = [UInt8](received), context = context
    var minor: UInt32 = 0, output = gss_buffer_desc()
    defer { Self.release(&output) }
    let major = input.withUnsafeMutableBytes { bytes in
      var input = gss_buffer_desc(length: bytes.count, value: bytes.baseAddress)
      return gss_init_sec_context(
        &minor, credential, &context, name, identifier, UInt32(GSS_C_MUTUAL_FLAG), 0, nil, &input, nil, &output, nil,
        nil)
    }
    self.context = context
    try check(major, minor)
    isComplete = major == GSS_S_COMPLETE
    return output.length == 0 ? nil : output.value.map { Data(bytes: $0, count: output.length) }
  }

  private mutating func importName(of host: String) throws(KerberosFailure) {
    var text = Array("HTTP@\(host)".utf8), minor: UInt32 = 0, name: gss_name_t?
    let major = text.withUnsafeMutableBytes { bytes in
      var buffer = gss_buffer_desc(length: bytes.count, value: bytes.baseAddress)
      return gss_import_name(&minor, &buffer, martlet_host_based_service(), &name)
    }
    self.name = name
    try check(major, minor)
  }

  private mutating func acquireCredential(from store: TicketStore) throws(KerberosFailure) {
    var minor: UInt32 = 0, credential: gss_cred_id_t?
    var mechanisms = gss_OID_set_desc(count: 1, elements: identifier)
    let major = Self.withElements(of: store) { elements in
      gss_acquire_cred_from(
        &minor, nil, martlet_indefinite(), &mechanisms, GSS_C_INITIATE, elements, &credential, nil, nil)
    }
    self.credential = credential
    try check(major, minor)
    guard case .spnego = mechanism else { return }
    var offered = gss_OID_set_desc(count: 1, elements: martlet_kerberos())
    try check(gss_set_neg_mechs(&minor, credential, &offered), minor)
  }

  /// Calls the closure with the store in the library's form; with nil for the process's.
  private static func withElements(
    of store: TicketStore, _ body: (gss_const_key_value_set_t?) -> UInt32
  ) -> UInt32 {
    let pairs = [("ccache", store.cache), ("client_keytab", store.keytab)].filter { $0.1 != nil }
    guard !pairs.isEmpty else { return body(nil) }
    var elements = pairs.map { gss_key_value_element_desc(key: strdup($0), value: strdup($1 ?? "")) }
    defer {
      for element in elements {
        free(UnsafeMutablePointer(mutating: element.key)); free(UnsafeMutablePointer(mutating: element.value))
      }
    }
    return elements.withUnsafeMutableBufferPointer { elements in
      var set = gss_key_value_set_desc(count: UInt32(elements.count), elements: elements.baseAddress)
      return body(&set)
    }
  }

  private var identifier: gss_OID {
    switch mechanism {
    case .spnego: martlet_spnego()
    case .kerberos: martlet_kerberos()
    }
  }

  private func check(_ major: UInt32, _ minor: UInt32) throws(KerberosFailure) {
    guard martlet_failed(major) != 0 else { return }
    let words =
      minor == 0 ? Self.words(for: major, GSS_C_GSS_CODE, nil) : Self.words(for: minor, GSS_C_MECH_CODE, identifier)
    throw KerberosFailure(major: major, minor: Int32(bitPattern: minor), detail: words)
  }

  /// The library's message for a code.
  private static func words(for code: UInt32, _ kind: Int32, _ mechanism: gss_OID?) -> String {
    var words: [String] = []
    var (minor, context) = (UInt32(0), UInt32(0))
    repeat {
      var text = gss_buffer_desc()
      defer { release(&text) }
      guard gss_display_status(&minor, code, kind, mechanism, &context, &text) == GSS_S_COMPLETE else { break }
      words.append(String(decoding: UnsafeRawBufferPointer(start: text.value, count: text.length), as: UTF8.self))
    } while context != 0
    return words.joined(separator: ": ")
  }

  private static func release(_ buffer: inout gss_buffer_desc) {
    var minor: UInt32 = 0
    gss_release_buffer(&minor, &buffer)
  }
}
