#if os(Linux)
import Foundation
@_spi(Transports) import MartletEngine
import TestSupport
import Testing

@testable import MartletSockets

/// A body is delivered in the memory into which it was received.
struct ReceiveMemoryTests {
  private let chunks = ChunkPool()

  /// Fills the room like a socket.
  private func receive(_ count: Int, into memory: ReceiveMemory) -> UnsafeRawBufferPointer {
    let room = memory.room(ofLayer: 0)
    for index in 0..<count { room[index] = UInt8(truncatingIfNeeded: index % 251) }
    memory.received(count)
    return UnsafeRawBufferPointer(rebasing: room[..<count])
  }

  @Test func aBodyKeepsTheMemoryThatItWasReceivedInto() throws {
    let memory = try ReceiveMemory(chunks)
    let received = receive(100_000, into: memory)
    let body = UnsafeRawBufferPointer(rebasing: received[300...])
    let address = UInt(bitPattern: body.baseAddress)
    #expect(memory.hasRoom(after: body, for: 0))

    var buffer = BodyBuffer(chunks)
    buffer.adopt(try #require(memory.giveAway()), with: body, bodySize: 99_700)
    #expect(!buffer.isIncompleteBody)
    _ = receive(100, into: memory)  // the next response is received elsewhere
    let data = buffer.take()

    #expect(data == Data.counting(99_700, from: 300))
    #expect(data?.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) } == address)
    #expect(!buffer.isAllocated)
  }

  @Test func theRestOfABodyIsReceivedBehindItsBeginning() throws {
    let memory = try ReceiveMemory(chunks)
    let body = UnsafeRawBufferPointer(rebasing: receive(50_000, into: memory)[40_000...])
    var buffer = BodyBuffer(chunks)
    buffer.adopt(try #require(memory.giveAway()), with: body, bodySize: 70_000)
    #expect(buffer.isIncompleteBody)

    for index in 0..<60_000 { buffer.room[index] = 7 }
    buffer.addFilled(60_000)

    #expect(!buffer.isIncompleteBody)
    let data = buffer.take()
    #expect(data == Data.counting(10_000, from: 40_000) + Data(repeating: 7, count: 60_000))
  }

  private func buffer(withChunk size: ChunkPool.Size) throws -> BodyBuffer {
    var buffer = BodyBuffer(chunks)
    guard buffer.allocate(bodySize: nil, chunk: size) else { throw POSIXError(.ENOMEM) }
    return buffer
  }

  @Test func aLargeChunkIsUsedAgainForALargeChunkOnly() throws {
    var large = try buffer(withChunk: .large)
    let room = large.room
    #expect(room.count == ChunkPool.Size.large.count)
    for index in room.indices { room[index] = UInt8(truncatingIfNeeded: index % 251) }
    large.addFilled(room.count)
    #expect(large.isFull)

    var data = large.take()
    #expect(data == Data.counting(ChunkPool.Size.large.count))
    #expect(data?.withUnsafeBytes { $0.baseAddress } == UnsafeRawPointer(room.baseAddress))
    data = nil

    var usual = try buffer(withChunk: .usual)
    #expect(usual.room.count == ChunkPool.Size.usual.count && usual.room.baseAddress != room.baseAddress)
    usual.release()
    large = try buffer(withChunk: .large)
    #expect(large.room.baseAddress == room.baseAddress)
    large.release()
  }

  @Test func fewBytesOfALargeChunkAreCopiedSoThatTheyDoNotKeepItsMemory() throws {
    var large = try buffer(withChunk: .large)
    let room = large.room
    for index in 0..<65_536 { room[index] = 7 }
    large.addFilled(65_536)

    let data = large.take()
    #expect(data == Data(repeating: 7, count: 65_536))
    large = try buffer(withChunk: .large)
    #expect(large.room.baseAddress == room.baseAddress)
    large.release()
  }

  @Test func bytesThatAreFollowedByOthersDoNotKeepTheirMemory() throws {
    let memory = try ReceiveMemory(chunks)
    let received = receive(1000, into: memory)

    #expect(!memory.hasRoom(after: UnsafeRawBufferPointer(rebasing: received[..<999]), for: 0))
    #expect(memory.hasRoom(after: received, for: ChunkPool.Size.usual.count - 1000))
    #expect(!memory.hasRoom(after: received, for: ChunkPool.Size.usual.count - 999))
    let other = [UInt8](repeating: 0, count: 10)
    #expect(other.withUnsafeBytes { !memory.hasRoom(after: $0, for: 0) })
  }
}
#endif
