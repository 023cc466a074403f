@_spi(Toolkit) public import MartletSemantics

#if canImport(Glibc)
import CFiles
import Glibc
#elseif canImport(Musl)
import CFiles
import Musl
#else
import Darwin
#endif

/// The place of a file that a complete one takes.
///
/// Only a regular file is replaced, or nothing: a rename over a device, a pipe or a socket would take it from all its
/// users. A file that cannot or must not be renamed over is overwritten in place: a mount point, as a container's
/// single files are, and a file with several names, all of which then show the new content.
@_spi(Toolkit) public struct FileReplacement: Sendable {
  /// The destination; the file that links lead to if they are followed.
  let url: URL
  private let access: PartialFile.Access

  /// - Throws: ``HTTPError`` of kind `.file` if the place is a folder, a device, a pipe or a socket, or a link to it is
  ///   not followed.
  init(of url: URL, _ access: PartialFile.Access, phase: HTTPError.Phase?) throws(HTTPError) {
    guard url.isFileURL else {
      throw HTTPError(.file, "'\(url.redacted)' is not a file URL: use URL(filePath:)", phase: phase)
    }
    // Before links are followed by hand: what a link below /proc leads to may have no path.
    if let refusal = Self.refusal(of: .following(url.path), at: url, phase: phase) { throw refusal }
    self.access = access
    do { self.url = try access == .standard ? FileStatus.followingLinks(url) : url } catch {
      throw .file(url.path, "cannot be written", code: error.code, phase: phase)
    }
  }

  /// Renames a complete file. The new one keeps the permissions, the owner, the group and the extended attributes of
  /// the replaced one, as far as this process may set them.
  ///
  /// - Throws: ``HTTPError`` of kind `.file`.
  public static func move(_ file: URL, to destination: URL) throws(HTTPError) {
    let replacement = try FileReplacement(of: destination, .standard, phase: .receiving)
    let descriptor = SpareDescriptors.making { open(file.path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
    guard descriptor >= 0 else { throw .file(file.path, "cannot be opened", code: errno, phase: .receiving) }
    defer { close(descriptor) }
    try replacement.take(file.path, descriptor)
  }

  /// The permissions with which the new file begins, so that only users who can read the replaced file can read it.
  var initialMode: mode_t { access == .standard ? FileStatus.named(url.path)?.permissions ?? 0o666 : 0o600 }

  /// Puts a complete file, which is open, in the place.
  func take(_ path: String, _ descriptor: Int32) throws(HTTPError) {
    let old = FileStatus.named(url.path)
    // It may have appeared in the meantime.
    if let refusal = Self.refusal(of: old, at: url, phase: .receiving) { throw refusal }
    if access == .standard, let old {
      if old.links > 1, overwrite(old, from: descriptor) {
        unlink(path)
        return
      }
      FileAttributes.copy(from: url.path, old, to: descriptor)
    }
    if rename(path, url.path) == 0 { return }
    guard errno == EBUSY, let old else { throw .file(url.path, "cannot be replaced", code: errno, phase: .receiving) }
    guard overwrite(old, from: descriptor) else {
      throw .file(url.path, "is a mount point and cannot be written", code: errno, phase: .receiving)
    }
    unlink(path)
  }

  private static func refusal(of status: FileStatus?, at url: URL, phase: HTTPError.Phase?) -> HTTPError? {
    switch status?.kind {
    case nil, .regular, .link: nil
    case .folder: HTTPError(.file, "'\(url.path)' is a folder: name a file in it", phase: phase)
    case .pipe, .socket, .device:
      HTTPError(.file, "'\(url.path)' is not a regular file and is not replaced: name another file", phase: phase)
    }
  }

  /// Writes the content of a file into the old one. Returns false, with `errno`, if that is not possible.
  private func overwrite(_ old: FileStatus, from descriptor: Int32) -> Bool {
    let target = SpareDescriptors.making { open(url.path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
    guard target >= 0 else { return false }
    defer {
      let code = errno
      close(target)
      errno = code
    }
    guard FileStatus.of(target)?.identity == old.identity else {
      errno = EAGAIN
      return false
    }
    if access == .ownerOnly {
      guard old.owner == geteuid() else {
        errno = EPERM
        return false
      }
      guard fchmod(target, 0o600) == 0 else { return false }
    }
    return ftruncate(target, 0) == 0 && Self.copy(descriptor, to: target) && fsync(target) == 0
  }

  private static func copy(_ source: Int32, to target: Int32) -> Bool {
    var (buffer, offset) = ([UInt8](repeating: 0, count: 256 << 10), off_t(0))
    while true {
      let count = pread(source, &buffer, buffer.count, offset)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return count == 0 }
      var written = 0
      while written < count {
        let step = buffer.withUnsafeBytes {
          pwrite(target, $0.baseAddress.map { $0 + written }, count - written, offset)
        }
        if step < 0, errno == EINTR { continue }
        guard step >= 0 else { return false }
        (written, offset) = (written + step, offset + off_t(step))
      }
    }
  }
}

/// What a replaced file passes on, besides its content.
enum FileAttributes {
  /// Copies owner, group, extended attributes and permissions, as far as this process may set them.
  static func copy(from path: String, _ old: FileStatus, to descriptor: Int32) {
    let hasGroup = fchown(descriptor, old.owner, old.group) == 0 || fchown(descriptor, .max, old.group) == 0
    copyExtended(from: path, to: descriptor)
    guard let permissions = old.permissions else { return }
    let isSameGroup = hasGroup || FileStatus.of(descriptor)?.group == old.group
    fchmod(descriptor, Self.permissions(permissions, isSameGroup: isSameGroup))
  }

  /// The permissions of the new file. Another group gets only the permissions of everybody: the group's permissions
  /// were meant for the replaced file's group.
  static func permissions(_ old: mode_t, isSameGroup: Bool) -> mode_t {
    isSameGroup ? old : old & 0o707 | (old & 0o007) << 3
  }

  #if canImport(Darwin)
  private static func copyExtended(from path: String, to descriptor: Int32) {
    let source = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
    guard source >= 0 else { return }
    fcopyfile(source, descriptor, nil, copyfile_flags_t(COPYFILE_ACL | COPYFILE_XATTR))
    close(source)
  }
  #else
  /// The privileges of a program belong to its content. The kernel removes them when a file is written, too.
  private static let privileges = "security.capability"
  private static let accessList = "system.posix_acl_access"

  private static func copyExtended(from path: String, to descriptor: Int32) {
    var names = [UInt8](repeating: 0, count: 64 << 10)
    let length = names.withUnsafeMutableBytes { llistxattr(path, $0.baseAddress, $0.count) }
    guard length >= 0 else { return }
    let copied = names[..<length].split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    // The folder may have given the new file a list of its own.
    if !copied.contains(accessList) { fremovexattr(descriptor, accessList) }
    for name in copied where name != privileges {
      var value = [UInt8](repeating: 0, count: 64 << 10)
      let count = lgetxattr(path, name, &value, value.count)
      if count >= 0 { fsetxattr(descriptor, name, value, count, 0) }
    }
  }
  #endif
}
