#if os(Linux)
import COpenSSL
import MartletEngine
import MartletSemantics

/// Limits the time for deriving keys from a password: a file itself sets the number of steps, up to hours of work.
enum KeyDerivation {
  /// The maximum number of steps, as in Java. Programs write 2048 to a million.
  static let limit: Int64 = 5_000_000

  /// Refuses more steps than the limit.
  static func check(_ steps: Int64, in name: String) throws(HTTPError) {
    guard steps > limit else { return }
    throw ClientIdentity.error(
      """
      the client certificate is not opened: in \(name) a key is derived from the password in \(steps) steps, more than \
      \(limit): write it anew, for example with 'openssl pkcs12 -export -iter 600000'
      """)
  }

  /// The steps of an algorithm for encryption with a password (RFC 8018, RFC 7292 Appendix B); 0 for any other.
  static func steps(of algorithm: UnsafePointer<X509_ALGOR>?) -> Int64 {
    guard let algorithm else { return 0 }
    switch OBJ_obj2nid(algorithm.pointee.algorithm) {
    case NID_pbes2, NID_pbmac1:
      // Both parameters begin with the algorithm that derives the key.
      return withParameter(of: algorithm, d2i_PBE2PARAM, PBE2PARAM_free) { steps(of: $0.pointee.keyfunc) }
    case NID_id_pbkdf2:
      return withParameter(of: algorithm, d2i_PBKDF2PARAM, PBKDF2PARAM_free) { number($0.pointee.iter) }
    case NID_id_scrypt:
      // RFC 7914 §6: the work is the product of the three.
      return withParameter(of: algorithm, d2i_SCRYPT_PARAMS, SCRYPT_PARAMS_free) { parameters in
        let factors = [
          parameters.pointee.costParameter, parameters.pointee.blockSize, parameters.pointee.parallelizationParameter,
        ]
        return factors.reduce(1) { product, factor in
          let (result, overflow) = product.multipliedReportingOverflow(by: number(factor))
          return overflow ? .max : result
        }
      }
    default: return withParameter(of: algorithm, d2i_PBEPARAM, PBEPARAM_free) { number($0.pointee.iter) }
    }
  }

  /// The value of a number; the largest one if it does not fit into 64 bits.
  static func number(_ integer: UnsafePointer<ASN1_INTEGER>?) -> Int64 {
    guard let integer else { return 0 }
    var value: Int64 = 0
    return ASN1_INTEGER_get_int64(&value, integer) == 1 ? value : .max
  }

  private typealias Parser<Parameter> = (
    UnsafeMutablePointer<UnsafeMutablePointer<Parameter>?>?, UnsafeMutablePointer<UnsafePointer<UInt8>?>?, Int
  ) -> UnsafeMutablePointer<Parameter>?

  /// Parses an algorithm's parameter; without one of this form, the result is 0.
  private static func withParameter<Parameter>(
    of algorithm: UnsafePointer<X509_ALGOR>, _ parse: Parser<Parameter>,
    _ free: (UnsafeMutablePointer<Parameter>?) -> Void, _ steps: (UnsafeMutablePointer<Parameter>) -> Int64
  ) -> Int64 {
    var type = V_ASN1_UNDEF
    var value: UnsafeRawPointer?
    X509_ALGOR_get0(nil, &type, &value, algorithm)
    guard type == V_ASN1_SEQUENCE, let sequence = value?.assumingMemoryBound(to: ASN1_STRING.self) else { return 0 }
    var position = ASN1_STRING_get0_data(sequence)
    guard let parameter = parse(nil, &position, Int(ASN1_STRING_length(sequence))) else { return 0 }
    defer { free(parameter) }
    return steps(parameter)
  }
}

// MARK: - Containers

extension KeyDerivation {
  /// The maximum number of steps of a container (RFC 7292 §4): of its checksum, of its encrypted parts, and of the keys
  /// in all parts that are not encrypted.
  static func steps(of container: OpaquePointer) -> Int64 {
    var algorithm: UnsafePointer<X509_ALGOR>?
    var count: UnsafePointer<ASN1_INTEGER>?
    PKCS12_get0_mac(nil, &algorithm, nil, &count, container)
    let parts = forEachPart(of: container) { part in
      switch OBJ_obj2nid(part.pointee.type) {
      case NID_pkcs7_data: steps(takingBags: PKCS12_unpack_p7data(part))
      case NID_pkcs7_encrypted: steps(of: part.pointee.d.encrypted?.pointee.enc_data?.pointee.algorithm)
      default: 0
      }
    }
    return max(number(count), steps(of: algorithm), parts)
  }

  /// The maximum number of steps of the keys within a container's encrypted parts that this password decrypts.
  static func steps(within container: OpaquePointer, password: String?) -> Int64 {
    forEachPart(of: container) { part in
      guard OBJ_obj2nid(part.pointee.type) == NID_pkcs7_encrypted else { return 0 }
      return steps(takingBags: PKCS12_unpack_p7encdata(part, password, -1))
    }
  }

  /// Returns the maximum number of steps of a container's parts.
  private static func forEachPart(
    of container: OpaquePointer, _ steps: (UnsafeMutablePointer<PKCS7>) -> Int64
  ) -> Int64 {
    let parts = PKCS12_unpack_authsafes(container)
    defer { martlet_free_parts(parts) }
    return (0..<max(0, martlet_part_count(parts))).reduce(0) { most, index in
      max(most, martlet_part_at(parts, index).map(steps) ?? 0)
    }
  }

  private static func steps(takingBags bags: OpaquePointer?) -> Int64 {
    defer { martlet_free_bags(bags) }
    return steps(ofBags: bags)
  }

  /// Bags may contain bags: OpenSSL parses 30 levels at most.
  private static func steps(ofBags bags: OpaquePointer?) -> Int64 {
    (0..<max(0, martlet_bag_count(bags))).reduce(0) { most, index in
      guard let bag = martlet_bag_at(bags, index) else { return most }
      switch PKCS12_SAFEBAG_get_nid(bag) {
      case NID_pkcs8ShroudedKeyBag: return max(most, steps(ofKey: PKCS12_SAFEBAG_get0_pkcs8(bag)))
      case NID_safeContentsBag: return max(most, steps(ofBags: PKCS12_SAFEBAG_get0_safes(bag)))
      default: return most
      }
    }
  }

  /// The steps of an encrypted key (PKCS#8, RFC 5958 §3).
  static func steps(ofKey key: OpaquePointer?) -> Int64 {
    guard let key else { return 0 }
    var algorithm: UnsafePointer<X509_ALGOR>?
    X509_SIG_get0(key, &algorithm, nil)
    return steps(of: algorithm)
  }
}
#endif
