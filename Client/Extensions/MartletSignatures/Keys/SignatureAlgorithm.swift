/// An algorithm of HTTP message signatures (RFC 9421 §3.3, §6.2).
@nonexhaustive public enum SignatureAlgorithm: String, Sendable, Hashable, CaseIterable {
  /// RSASSA-PSS with SHA-512 and a salt of 64 bytes (§3.3.1). Two signatures of one text differ.
  case rsaPSSSHA512 = "rsa-pss-sha512"
  /// RSASSA-PKCS1-v1_5 with SHA-256 (§3.3.2), for peers that have nothing newer.
  case rsaV15SHA256 = "rsa-v1_5-sha256"
  /// HMAC with SHA-256 (§3.3.3). A peer that can verify can also sign.
  case hmacSHA256 = "hmac-sha256"
  /// ECDSA over P-256 with SHA-256 (§3.3.4). Two signatures of one text differ.
  case ecdsaP256SHA256 = "ecdsa-p256-sha256"
  /// ECDSA over P-384 with SHA-384 (§3.3.5). Two signatures of one text differ.
  case ecdsaP384SHA384 = "ecdsa-p384-sha384"
  /// Ed25519 (§3.3.6).
  case ed25519
}
