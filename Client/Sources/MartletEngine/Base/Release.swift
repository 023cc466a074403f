/// The release of Martlet.
@_spi(Toolkit) public enum Release {
  /// The version of the latest entry in the changelog; `scripts/check` compares them.
  public static let version = "0.1.0"
}
