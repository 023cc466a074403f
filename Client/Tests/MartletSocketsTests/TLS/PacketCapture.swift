import MartletSemantics

/// A recording of one TCP connection in the format of libpcap, for programs that read such files.
///
/// The packets are made here, from bytes that never crossed a network: IPv4 and TCP headers without options, and
/// without checksums, which readers do not check by default.
struct PacketCapture {
  private(set) var data = Data()
  private var sequence: (client: UInt32, server: UInt32) = (1000, 2000)
  private var time: UInt32 = 0

  private static let (clientPort, serverPort): (UInt16, UInt16) = (50_000, 443)

  /// Begins with the handshake of TCP.
  init() {
    // magic number, version 2.4, two unused words, the longest packet, and the link type for bare IP packets
    data.append(contentsOf: [0xA1, 0xB2, 0xC3, 0xD4, 0, 2, 0, 4] + [UInt8](repeating: 0, count: 8))
    data.append(contentsOf: Self.bytes(UInt32(65_535)) + Self.bytes(UInt32(101)))
    packet([], fromClient: true, flags: 0x02)
    sequence.client += 1
    packet([], fromClient: false, flags: 0x12)
    sequence.server += 1
    packet([], fromClient: true, flags: 0x10)
  }

  /// Adds the bytes that one side sends.
  mutating func add(_ bytes: [UInt8], fromClient: Bool) {
    for start in stride(from: 0, to: bytes.count, by: 1400) {
      let part = Array(bytes[start..<min(start + 1400, bytes.count)])
      packet(part, fromClient: fromClient, flags: 0x18)
      if fromClient { sequence.client += UInt32(part.count) } else { sequence.server += UInt32(part.count) }
    }
  }

  private mutating func packet(_ payload: [UInt8], fromClient: Bool, flags: UInt8) {
    let (source, target): ([UInt8], [UInt8]) =
      fromClient ? ([10, 0, 0, 1], [10, 0, 0, 2]) : ([10, 0, 0, 2], [10, 0, 0, 1])
    let ports = fromClient ? (Self.clientPort, Self.serverPort) : (Self.serverPort, Self.clientPort)
    let (own, other) = fromClient ? (sequence.client, sequence.server) : (sequence.server, sequence.client)
    let length = 40 + payload.count
    let internet: [UInt8] =
      [0x45, 0] + Self.bytes(UInt16(length)) + [0, 0, 0x40, 0, 64, 6, 0, 0] + source + target
    let transmission: [UInt8] =
      Self.bytes(ports.0) + Self.bytes(ports.1) + Self.bytes(own) + Self.bytes(flags == 0x02 ? 0 : other)
      + [0x50, flags, 0xFF, 0xFF, 0, 0, 0, 0]
    time += 1000
    data.append(contentsOf: Self.bytes(UInt32(1_700_000_000)) + Self.bytes(time))
    data.append(contentsOf: Self.bytes(UInt32(length)) + Self.bytes(UInt32(length)))
    data.append(contentsOf: internet + transmission + payload)
  }

  private static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
    withUnsafeBytes(of: number.bigEndian) { Array($0) }
  }
}
