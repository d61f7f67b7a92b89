import Foundation
import Testing

/// Sources and manifest follow the import rules in `docs/architecture.md`.
@Suite struct ImportTests {
    let tree: SourceTree
    let table: ImportTable
    let manifest: Manifest

    init() throws {
        tree = .current
        table = ImportTable(markdown: try tree.text("docs/architecture.md"))
        manifest = Manifest(try tree.text("Package.swift"))
    }

    @Test func `The table, the manifest and the folders name the same targets`() throws {
        let folders = Set(try tree.targets(below: "Sources").keys)
        #expect(Set(table.rows.map(\.target)) == folders)
        #expect(table.rows.count == folders.count)
        #expect(Set(manifest.targets.filter { $0.path == nil && !$0.name.hasSuffix("Tests") }.map(\.name)) == folders)
    }

    @Test func `Targets import only lower layers`() {
        #expect(table.misdirected == [])
    }

    @Test func `Files import only what the table allows`() throws {
        for (target, folder) in try tree.targets(below: "Sources") {
            for (path, source) in SourceTree.sources(below: folder) {
                #expect(table.forbidden(source.imports, in: target) == [], "\(path)")
                #expect(!source.importsTestably, "\(path) imports something @testable")
            }
        }
    }

    @Test func `The manifest gives targets only the dependencies that the table allows`() throws {
        for target in manifest.targets where table.row(of: target.name) != nil {
            #expect(table.forbidden(target.dependencies, in: target.name) == [], "\(target.name)")
        }
    }

    @Test func `Files do not import indirect dependencies of other packages`() throws {
        let folders = try tree.targets(below: "Sources")
        for target in manifest.targets where table.row(of: target.name) != nil {
            let declared = target.dependencies.union(ImportTable.free).union(ImportTable.system)
            for (path, source) in SourceTree.sources(below: folders[target.name] ?? "") {
                #expect(Set(source.imports).subtracting(declared) == [], "\(path)")
            }
        }
    }

    @Test func `Clients do not link a server, a database or a second HTTP stack`() {
        let library = [
            "Nightshift", "NightshiftUIKit", "NightshiftBackgroundTasks", "NightshiftCoreLocation",
            "NightshiftUserNotifications",
        ]
        for client in ["CLI", "NightshiftClient", "NightshiftCurl", "NightshiftAPI"] + library {
            // The library for apps uses FoundationNetworking's classes.
            let own: Set = library.contains(client) ? ["FoundationNetworking"] : []
            let linked = table.linked(by: client).subtracting(own)
            let serverSide = linked.filter { name in
                ["NIO", "GRDB", "Hummingbird", "AsyncHTTPClient", "FoundationNetworking"].contains {
                    name.hasPrefix($0)
                }
            }
            #expect(serverSide == [], "\(client)")
        }
    }

    @Test func `An app needs no other package, because external products belong to the Service trait`() throws {
        let text = try tree.text("Package.swift")
        // Only the function `service` names an external product.
        #expect(text.matches(of: /\.product\(/).count == 1)
        #expect(text.contains(/\.product\([^)]*condition: \.when\(traits: \["Service"\]\)\)/))
    }

    @Test func `Only the library for apps imports FoundationNetworking`() {
        #expect(!SourceTree.sources.isEmpty)
        let linked = ["Sources/Library/Nightshift/", "Sources/Library/FoundationSessions/"]
        for (path, source) in SourceTree.sources where !linked.contains(where: path.hasPrefix) {
            #expect(!source.imports.contains("FoundationNetworking"), "\(path)")
        }
    }

    @Test func `C code exists only in the shims`() throws {
        let files = try tree.files(below: "Sources", extensions: ["c", "h", "cpp", "m", "S"])
        #expect(!files.isEmpty)
        let shims = [
            "Sources/System/CNightshift/", "Sources/System/CDigest/", "Sources/System/CTLS/",
            "Sources/System/CSystemd/", "Sources/System/CExpat/", "Sources/API/COpenAPI/",
            "Sources/System/CDesktop/", "Sources/Clients/CPage/",
        ]
        #expect(files.filter { !shims.contains(where: $0.hasPrefix) } == [])
    }
}
