import Foundation
import HTTPServing
import NightshiftAPI
import NightshiftClient
import Testing

@testable import Page

/// B5: the page's files that are embedded in the program.
@Suite struct AssetTests {
    let assets = Assets()

    private var texts: [(name: String, text: String)] {
        assets.files.map { ($0.key, String(decoding: $0.value.bytes, as: UTF8.self)) }
    }

    @Test("B5: the files of the page are smaller than 200 kB together")
    func size() {
        #expect(assets.files.values.reduce(0) { $0 + $1.bytes.count } < 200_000)
        #expect(assets.files.keys.contains("index.html") && assets.files.keys.contains("app.js"))
    }

    @Test("B5: the page has no foreign files, no inline script, and no markup that is made from strings")
    func plain() {
        let forbidden = [
            "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "new Function", "DOMParser",
            "createContextualFragment", "@import", "localStorage", "url(", "javascript:",
        ]
        for (name, text) in texts {
            for word in forbidden { #expect(!text.contains(word), "\(name): \(word)") }
            for address in text.matches(of: /https?:\/\/[a-z0-9.]+/).map({ String(text[$0.range]) }) {
                #expect(address == "http://www.w3.org", "\(name): \(address)")
            }
        }
        let document = String(decoding: assets.files["index.html"]?.bytes ?? [], as: UTF8.self)
        #expect(!document.contains("style=") && !document.contains(" onclick") && !document.contains("<style"))
        #expect(document.matches(of: /<script(?![^>]* src=)/).isEmpty)
    }

    @Test("B5: every imported module exists")
    func imports() {
        for (name, text) in texts where name.hasSuffix(".js") {
            for match in text.matches(of: /from "\.\/([a-z-]+\.js)"/) {
                #expect(assets.files[String(match.output.1)] != nil, "\(name) imports \(match.output.1)")
            }
        }
    }

    @Test("B5: only the document contains the token")
    func token() throws {
        let token = Secret()
        let document = try #require(assets.document(token: token))
        let text = String(decoding: document.bytes, as: UTF8.self)
        #expect(text.contains("content=\"\(token.text)\""))
        #expect(!text.contains(Assets.tokenMark))
        for (name, text) in texts where name != "index.html" { #expect(!text.contains(Assets.tokenMark)) }
    }

    @Test("B5: the page has a sentence for every code of the API")
    func words() throws {
        let setup = Setup(downloads: "/d", home: "/h")
        #expect(setup.decisions.count == Decision.allCases.count)
        #expect(setup.waits.count == WaitReason.allCases.count)
        #expect(setup.tasks.count == TaskKind.allCases.count)
        for sentences in setup.tasks.values { #expect(sentences.count == TaskState.allCases.count) }
        #expect(setup.taskStates["suspended"] == "paused" && setup.appStates["notRunning"] == "not running")
        #expect(setup.wakes["region"]?.short == WakeReason.region.wording.short)
        #expect(setup.pushStates.count == PushRecord.State.allCases.count)
        #expect(try JSON.encode(setup).count < 40_000)
    }

    @Test(
        "B5: the proposed folder is that of the user directories",
        arguments: [
            (nil, "/home/ada/Downloads"), ("XDG_DOWNLOAD_DIR=\"$HOME/Laden\"\n", "/home/ada/Laden"),
            ("# x\nXDG_DOWNLOAD_DIR=\"/data/in\"", "/data/in"),
            ("XDG_DOWNLOAD_DIR=\"relative\"", "/home/ada/Downloads"),
            ("XDG_MUSIC_DIR=\"$HOME/Music\"", "/home/ada/Downloads"),
        ] as [(String?, String)])
    func downloads(_ text: String?, _ folder: String) {
        #expect(UserDirectories.downloads(userDirectories: text, home: "/home/ada") == folder)
    }
}
