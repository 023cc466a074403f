#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The masking keys of a client's frames: random bytes of the system, a new key for each frame (RFC 6455 §5.3, §10.3).
/// The system provides the keys of 64 frames at once, because each call takes as long as making a small frame.
struct MaskSource: ~Copyable {
  private var keys: InlineArray<64, UInt32> = .init(repeating: 0)
  /// How many of the keys are unused.
  private var unused = 0

  /// Returns the next key.
  mutating func next() -> UInt32 {
    if unused == 0 { refill() }
    guard unused > 0 else { return .random(in: 0...UInt32.max) }
    unused -= 1
    return keys[unused]
  }

  private mutating func refill() {
    let size = MemoryLayout.size(ofValue: keys)
    #if canImport(Darwin)
    arc4random_buf(&keys, size)  // The App Store refuses programs that use getentropy.
    unused = keys.count
    #else
    if getentropy(&keys, size) == 0 { unused = keys.count }
    #endif
  }
}
