package import FoundationEssentials

/// A server that exists only in tests.
package let origin = url("http://a.example/")

/// Makes a URL from the test's text; a mistake in it stops the test run.
package func url(_ text: String) -> URL {
  guard let url = URL(string: text) else { fatalError("'\(text)' is not a URL") }
  return url
}
