// swift-tools-version: 6.2
import PackageDescription

let settings: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

// Sessions against servers, proxies and readers that others wrote: `make interop`, `make scores`.
let package = Package(
  name: "Interop",
  dependencies: [.package(name: "Martlet", path: "..")],
  targets: [
    // Makes the requests of public suites: see Scores/scores.mjs.
    .executableTarget(
      name: "scores-client", dependencies: [.product(name: "Martlet", package: "Martlet")], path: "Scores/Client",
      swiftSettings: settings),
    // RealServers in there is a link to what the root's own tests start: it is kept once.
    .testTarget(
      name: "InteropTests",
      dependencies: [
        .product(name: "Martlet", package: "Martlet"), .product(name: "MartletImages", package: "Martlet"),
        .product(name: "MartletTesting", package: "Martlet"), .product(name: "MartletCurl", package: "Martlet"),
      ],
      exclude: ["Pictures/corpus.py"],
      swiftSettings: settings),
  ],
  swiftLanguageModes: [.v6]
)
