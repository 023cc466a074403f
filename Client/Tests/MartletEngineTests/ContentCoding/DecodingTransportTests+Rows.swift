import Foundation
import Testing

/// A text in every content coding that is decoded, in the form of other programs.
extension DecodingTransportTests {
  struct Row: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let codings: String
    let bytes: Data

    init(_ name: String, _ codings: String, _ base64: String) {
      testDescription = name
      self.codings = codings
      bytes = Data(base64Encoded: base64) ?? Data()
    }
  }

  /// The decoded content of every row.
  static let text = """
    A martlet is the heraldic swift that never lands. 0123456789 abcdefghijklmnopqrstuvwxyz
    The swift is an aerial bird: it feeds, drinks, mates and sleeps on the wing, 1,000,000 km in a life.

    """

  static var rows: [Row] {
    [
      Row(
        "gzip", "gzip",
        "H4sIAAAAAAACAyXOXQ6CMBAE4HdOMQcgpPivb97BCyx0CyttwbaCenqLPmwmmUy+7BWOQrKcIBGpZ/QcyGppERcxKVeU4Hnm"
          + "AEtexwqq3mx3+8PxdAY1rWbT9XIfrPPj9AgxPefl9f4Ut0z9heySB3EQsmgk6AskwTDrWEIH8UNOR4nXnUa0zFPE6H/fLOK7"
          + "EnWplFoPg4NkDFYMV8UXtB8UFb0AAAA="),
      Row(
        "gzip with every optional field", "gzip",
        "H4sIHgAAAAACAwQAYWJjZG5hbWUAY29tbWVudACfSSXOXQ6CMBAE4HdOMQcgpPivb97BCyx0CyttwbaCenqLPmwmmUy+7BWO"
          + "QrKcIBGpZ/QcyGppERcxKVeU4HnmAEtexwqq3mx3+8PxdAY1rWbT9XIfrPPj9AgxPefl9f4Ut0z9heySB3EQsmgk6AskwTDr"
          + "WEIH8UNOR4nXnUa0zFPE6H/fLOK7EnWplFoPg4NkDFYMV8UXtB8UFb0AAAA="),
      Row(
        "gzip of two members", "gzip",
        "H4sIAAAAAAACAw3IyxWCMBAF0L1VvAo8IPJb2oMNjMlAAiHIZCRi9XiX94GFRAMrfII6hmOhYL1Byn7Qf5Ei8s6CQNGmK4ry"
          + "Vt3rpu160MtYHkbnpzkscX1vkvSz5+/xuzzdCeDdAhBaAAAAH4sIAAAAAAACAxWMSwqAMBTE9p5iDlCkbr1NpVMd+lH6Cr2+"
          + "ugjZhBA2lQZkCA2BXaHgUI87NJDIaA6xq+XPNQz+XYQV8jHcDeMiptrpsDnv/Q9yhb4ZihLX5QW5WnPLYwAAAA=="),
      Row(
        "deflate as zlib", "deflate",
        "eNolzl0OgjAQBOB3TjEHIKT4r2/ewQssdAsrbcG2gnp6iz5sJplMvuwVjkKynCARqWf0HMhqaREXMSlXlOB55gBLXscKqt5s"
          + "d/vD8XQGNa1m0/VyH6zz4/QIMT3n5fX+FLdM/YXskgdxELJoJOgLJMEw61hCB/FDTkeJ151GtMxTxOh/3yziuxJ1qZRaD4OD"
          + "ZAxWDFfFF5PYQBo="),
      Row(
        "raw deflate", "deflate",
        "Jc5dDoIwEATgd04xByCk+K9v3sELLHQLK23BtoJ6eos+bCaZTL7sFY5CspwgEaln9BzIamkRFzEpV5TgeeYAS17HCqrebHf7"
          + "w/F0BjWtZtP1ch+s8+P0CDE95+X1/hS3TP2F7JIHcRCyaCToCyTBMOtYQgfxQ05HidedRrTMU8Tof98s4rsSdamUWg+Dg2QM"
          + "VgxXxRc="),
      Row(
        "brotli", "br",
        "H7wAQB0JduzIsnzk2KeDQ9IB3woLKkXn/Ixq/FHKMR50csD83w7aEskTCTHSltvYmW5dhr2qk0ekbQQ5YDuGkTCy0SAsR3+s"
          + "GhiGjv6Gsq/9wHVTTmcPlHEhlTbW+RBTLrX1Mdfzfj8xkrvbDppAZbM04NycgB3rbMjbQEY6QlIlNHSMYeiPTXrDvV1pXH2E"
          + "TaAvyzEB"),
      Row(
        "zstd", "zstd",
        "KLUv/QRolQQAkoogGVB3Dv8MAQhFQ4koYWhu5srd3datxUyRhwGAwFLPw9O+VX0YhoB4MNHm6HWLMU/7yBdaD2xFu8YHNjJL"
          + "v/0m1oY+YVeGp/C2WT7A53Xcpl1bM+yi1qyolpPEMYLgmUVJkMMoiOGCjRTOV96Y/kJ5f6Xm7KOOE1aWZ3lv+5fnrdC6EwQA"
          + "e/iIOZ+ltmxFFqIuHEow"),
      Row(
        "zstd of two frames and one that is skipped", "zstd",
        "KLUv/QRotQIAooUUGHB5A1CznGjrniyJ5CSZ/R1BqRP/ln5fTN4Am5Zhl/WVVtQ0JRlB0R/Yzzm8i5Igh1EQg7BBfZPl0r56"
          + "7rP/PoxYXRefZNq+7b817rd8ytIyAQD9Q81mUCpNGAUAAABoZWxsbyi1L/0EaH0CAPKFERKg7YAxHd7WmxXQfwy44P2eGQFA"
          + "LGJ2veO39TFGIA/J8fwqeffecJf1j9P3Sm0PvRzH89BnF13yy4lszpTj6p2++RLx7G8BAJDgRgHm50IM"),
      Row(
        "gzip within brotli", "gzip, br",
        "D1OAH4sIAAAAAAACAyXOXQ6CMBAE4HdOMQcgpPivb97BCyx0CyttwbaCenqLPmwmmUy+7BWOQrKcIBGpZ/QcyGppERcxKVeU"
          + "4HnmAEtexwqq3mx3+8PxdAY1rWbT9XIfrPPj9AgxPefl9f4Ut0z9heySB3EQsmgk6AskwTDrWEIH8UNOR4nXnUa0zFPE6H/f"
          + "LOK7EnWplFoPg4NkDFYMV8UXtB8UFb0AAAAD"),
      Row(
        "x-gzip", "X-GZIP",
        "H4sIAAAAAAACAyXOXQ6CMBAE4HdOMQcgpPivb97BCyx0CyttwbaCenqLPmwmmUy+7BWOQrKcIBGpZ/QcyGppERcxKVeU4Hnm"
          + "AEtexwqq3mx3+8PxdAY1rWbT9XIfrPPj9AgxPefl9f4Ut0z9heySB3EQsmgk6AskwTDrWEIH8UNOR4nXnUa0zFPE6H/fLOK7"
          + "EnWplFoPg4NkDFYMV8UXtB8UFb0AAAA="),
    ]
  }
}
