/// The release of Martlet that this is.
package enum Release {
  /// The version that the changelog describes first; `scripts/check` compares them.
  package static let version = "0.1.0"
}
