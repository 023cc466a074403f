// swift-tools-version: 6.2
import PackageDescription

// A day with SAP Mobile Services, shown with SAPFoundation and a service of its own.
let package = Package(
  name: "SAP",
  platforms: [.macOS(.v15)],
  dependencies: [.package(name: "Martlet", path: "../..")],
  targets: [
    .target(
      name: "SAPStory",
      dependencies: [
        .product(name: "Martlet", package: "Martlet"),
        .product(name: "MartletCombine", package: "Martlet"),
        .product(name: "MartletImages", package: "Martlet"),
        .product(name: "MartletTesting", package: "Martlet"),
        .product(name: "SAPFoundation", package: "Martlet"),
        .product(name: "SAPFoundationTesting", package: "Martlet"),
      ]),
    .executableTarget(name: "sap-story", dependencies: ["SAPStory"]),
    .testTarget(name: "SAPStoryTests", dependencies: ["SAPStory"]),
  ],
  swiftLanguageModes: [.v6]
)

for target in package.targets {
  target.swiftSettings = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
  ]
}
