// swift-tools-version: 6.2
import PackageDescription

// An app's package, as anybody would write it: what it adds is the library and nothing else.
let package = Package(
    name: "library-client",
    dependencies: [.package(name: "nightshift", path: "../..")],
    targets: [
        .executableTarget(
            name: "library-client", dependencies: [.product(name: "Nightshift", package: "nightshift")])
    ]
)
