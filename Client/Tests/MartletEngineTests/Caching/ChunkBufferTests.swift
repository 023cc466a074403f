import Foundation
@_spi(Stores) import MartletEngine
import Testing

/// How a body is split into the chunks of a store.
struct ChunkBufferTests {
  @Test(arguments: [
    ([4], [], 4), ([5], [4], 1), ([2, 2], [], 4), ([3, 2], [4], 1), ([4, 4], [4], 4), ([13], [4, 4, 4], 1),
    ([0, 3], [], 3), ([], [], 0),
  ])
  func aChunkIsFullWhenMoreBytesFollow(_ row: (pieces: [Int], chunks: [Int], rest: Int)) {
    var buffer = ChunkBuffer(size: 4)
    var (chunks, all) = (Data(), Data())
    var sizes: [Int] = []

    for (index, count) in row.pieces.enumerated() {
      let piece = Data(repeating: UInt8(index), count: count)
      all += piece
      var rest = piece
      while buffer.fill(from: &rest) {
        sizes.append(buffer.bytes.count)
        chunks += buffer.take()
      }
    }

    #expect(sizes == row.chunks)
    #expect(buffer.bytes.count == row.rest)
    #expect(chunks + buffer.bytes == all)
  }
}
