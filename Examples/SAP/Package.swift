// swift-tools-version: 6.2
import PackageDescription

// A day with SAP Mobile Services, a shell that uses them, and a gateway with faults that both can speak to.
let package = Package(
  name: "SAPExample",
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
    .target(
      name: "SAPPrograms",
      dependencies: [
        "SAPStory",
        .product(name: "Martlet", package: "Martlet"),
        .product(name: "MartletImages", package: "Martlet"),
        .product(name: "MartletTesting", package: "Martlet"),
        .product(name: "SAPFioriFlows", package: "Martlet"),
        .product(name: "SAPFoundation", package: "Martlet"),
        .product(name: "SAPFoundationTesting", package: "Martlet"),
        .product(name: "SAPOData", package: "Martlet"),
      ]),
    .executableTarget(
      name: "sap-shell",
      dependencies: [
        "SAPPrograms", "SAPStory", .product(name: "SAPFoundation", package: "Martlet"),
        .product(name: "SAPFoundationTesting", package: "Martlet"),
      ]),
    .executableTarget(
      name: "sap-gateway",
      dependencies: ["SAPPrograms", .product(name: "SAPFoundationTesting", package: "Martlet")]),
    .testTarget(name: "SAPStoryTests", dependencies: ["SAPStory"]),
    .testTarget(
      name: "SAPProgramsTests",
      dependencies: [
        "SAPPrograms", "sap-shell",
        .product(name: "Martlet", package: "Martlet"),
        .product(name: "MartletTesting", package: "Martlet"),
        .product(name: "SAPFoundation", package: "Martlet"),
        .product(name: "SAPFoundationTesting", package: "Martlet"),
      ]),
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
