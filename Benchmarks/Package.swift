// swift-tools-version: 6.2
import PackageDescription

// What Martlet costs, beside a plain C loop on libcurl and beside URLSession; also beside AsyncHTTPClient if the environment
// names a checkout of it: `ASYNC_HTTP_CLIENT=/path/to/async-http-client make bench`.
let asyncHTTPClient = Context.environment["ASYNC_HTTP_CLIENT"]

let package = Package(
  name: "Benchmarks",
  dependencies: [.package(name: "Martlet", path: "..")]
    + (asyncHTTPClient.map { [.package(name: "async-http-client", path: $0)] } ?? []),
  targets: [
    // The practical limit: libcurl, epoll and nothing else.
    .target(name: "CLoop", linkerSettings: [.linkedLibrary("curl")]),
    .target(name: "CTurbo", linkerSettings: [.linkedLibrary("turbojpeg")]),
    .executableTarget(
      name: "bench",
      dependencies: [
        "CLoop", "CTurbo",
        .product(name: "Martlet", package: "Martlet"),
        .product(name: "MartletImages", package: "Martlet"),
        .product(name: "MartletSQLite", package: "Martlet"),
        .product(name: "MartletTesting", package: "Martlet"),
        .product(name: "MartletCurl", package: "Martlet"),
        .product(name: "MartletSockets", package: "Martlet"),
      ] + (asyncHTTPClient == nil ? [] : [.product(name: "AsyncHTTPClient", package: "async-http-client")]),
      swiftSettings: (asyncHTTPClient == nil ? [] : [.define("ASYNC_HTTP_CLIENT")]) + [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
