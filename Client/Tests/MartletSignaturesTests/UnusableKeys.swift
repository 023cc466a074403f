/// Texts from which no key is made, and words of the error.
enum UnusableKeys {
  static let all: [(String, String)] = [
    // a key over P-521
    (
      """
      -----BEGIN PRIVATE KEY-----
      MIHuAgEAMBAGByqGSM49AgEGBSuBBAAjBIHWMIHTAgEBBEIA09aEn/SzMbhDA4K2
      JsYZ0JYb+ELJB5vcbJaJxyflbUF9ZJYc3FV4odAGwKOCcp/Fwm1tQOrKTAqKNr0C
      /gvFN6ShgYkDgYYABAHrQm6mK0bjK/Tl4Okz10KvU6x1TSPYwQoylhfkhBAvqw6t
      m/MeZvBPiXvA+zyrQHeyyylv19PGAYh9BH8DUbL+3AGRDQ5lSShDaQqzrBM3rZsK
      35M/tSTpJoyhDPVbHg3PKQQuXNLtC53ZunMUJABVKYfUUHqtGiMH0Zid4CeNVVya
      Gw==
      -----END PRIVATE KEY-----
      """, "no kind"
    ),
    // a key over secp256k1
    (
      """
      -----BEGIN PRIVATE KEY-----
      MIGEAgEAMBAGByqGSM49AgEGBSuBBAAKBG0wawIBAQQglV9yP/4oT26RcVwQ6ydE
      GkAUg2m55jzOY6ZEsaVtBv6hRANCAARkmvx5ijdQ09b1b2hu2CSY7bJ+DnCKAZZj
      txmTcxS0vf71caOH5oGI3iDDZ8tUEi0D5M3rCYAKKylirRQdorg6
      -----END PRIVATE KEY-----
      """, "no kind"
    ),
    // a public key of 1024 bits of RSA
    (
      """
      -----BEGIN PUBLIC KEY-----
      MIGfMA0GCSqGSIb3DQEBAQUAA4GNADCBiQKBgQDUrxnulclrLuN6znt0B+uPc2TG
      i4feJyhauKLSDJnoLHFpGkyjuZjII1MkFDPOA/xB7pkQJEfiXX3u46+PBEujRRxp
      EAAxyGC0wzNMwVhTVeC7j75IPupSdgUcjG98mW4Y+a86D8T+GfsgJlB1QGmPsxyn
      KWlaQDDqENeAJrvXdQIDAQAB
      -----END PUBLIC KEY-----
      """, "1024 bits"
    ),
    // an encrypted key
    (
      """
      -----BEGIN ENCRYPTED PRIVATE KEY-----
      MIGbMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiSQgcwk816YgICCAAw
      DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEGtE/ewJKw5yds84tGE6rqgEQIbz
      LElPFRlGvpbGXZbXuDK1httQkSXqY4omQ0qDOxtA08WizcG3I6iLwsDWz3xZQIQX
      mG2fPf/G+SKj4+jCAiY=
      -----END ENCRYPTED PRIVATE KEY-----
      """, "encrypted"
    ),
    // an encrypted key in the older form
    (
      """
      -----BEGIN EC PRIVATE KEY-----
      Proc-Type: 4,ENCRYPTED
      DEK-Info: AES-128-CBC,1DE114816C8A4CAEB9C2A60B63280424

      jims1kpqMXaS731K9k7HtgmC2JXkaI/j1U4gXfr6OZiTt2vvpb/uOnRi0g/jiy/+
      TNJ6DoVtGrhHvPTPkO2IThcKw60csS1ncr1ZldDgCFRdldxKYjZhd+mdtGWECLd0
      ogjWhEWhGer6tUaOhOgJKmSVwAczrAVFBuSrL6eCxXI=
      -----END EC PRIVATE KEY-----
      """, "encrypted"
    ),
    // no key
    (
      """
      hello
      """, "no complete key"
    ),
    // an empty text
    (
      """

      """, "no complete key"
    ),
    // a block that does not end
    (
      """
      -----BEGIN PRIVATE KEY-----
      MC4CAQAwBQYDK2VwBCIEIJ
      """, "no complete key"
    ),
    // a block that is no base64
    (
      """
      -----BEGIN PRIVATE KEY-----
      !!!!
      -----END PRIVATE KEY-----
      """, "no complete key"
    ),
    // bytes that are no key
    (
      """
      -----BEGIN PRIVATE KEY-----
      AAAA
      -----END PRIVATE KEY-----
      """, "not a private key"
    ),
    // a certificate
    (
      """
      -----BEGIN CERTIFICATE-----
      AAAA
      -----END CERTIFICATE-----
      """, "no complete key"
    ),
  ]
}
