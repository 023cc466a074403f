#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// A thread, as long as it runs.
struct ThreadIdentity: Equatable {
  private let thread: pthread_t

  static var current: ThreadIdentity { ThreadIdentity(thread: pthread_self()) }
}
