import Testing

/// What every transport owes its callers, over libcurl, URLSession and the mock.
///
/// One test after another: Foundation's URLSession blocks threads of the cooperative pool, of which a machine has as few as
/// cores, and many at once would stand still.
@Suite(.serialized) enum TransportContract {}
