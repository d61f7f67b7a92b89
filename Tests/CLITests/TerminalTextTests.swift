import NightshiftAPI
import Testing

@testable import CLI

struct TerminalTextTests {
    @Test(arguments: [
        ("film.mkv", "film.mkv"), ("ä日本🎬", "ä日本🎬"), ("a\u{1b}]0;x\u{7}b", "a\\x1b]0;x\\x07b"),
        ("a\nb\r\t", "a\\x0ab\\x0d\\x09"), ("\u{9b}31m", "\\x9b31m"), ("txt.\u{202e}exe", "txt.\\u{202e}exe"),
        ("a\u{2028}b", "a\\u{2028}b"), ("\u{feff}", "\\u{feff}"), ("\u{e000}", "\\u{e000}"),
        ("👩‍🚀", "👩‍🚀"),
    ])
    func `The terminal text escapes control characters and direction marks`(_ raw: String, _ shown: String) {
        #expect(TerminalText.escaped(raw) == shown)
    }

    @Test func `The terminal text keeps newlines only on request`() {
        #expect(TerminalText.escaped("a\nb\u{1b}", keepingNewlines: true) == "a\nb\\x1b")
    }

    @Test(arguments: [("abc", 3), ("日本", 4), ("e\u{301}", 1), ("🎬", 2), ("", 0), ("❤️", 2)])
    func widths(_ text: String, _ columns: Int) {
        #expect(TerminalText.width(text) == columns)
    }

    @Test(arguments: [
        ("film.mkv", 8, "film.mkv"), ("a-long-name.tar.gz", 10, "a-long….gz"), ("日本語の名前", 7, "日本…前"),
        ("abc", 1, "…"), ("abc", 0, ""),
    ])
    func `Shortened text keeps its beginning and its end`(_ text: String, _ columns: Int, _ shown: String) {
        #expect(TerminalText.shortened(text, to: columns) == shown)
        #expect(TerminalText.width(TerminalText.shortened(text, to: columns)) <= columns)
    }

    @Test(arguments: [
        ("film.mkv", 8, "film.mkv"), ("4 times, again in 6 s", 12, "4 times, ag…"), ("日本語", 4, "日…"),
        ("padded      ", 8, "padded  "), ("abc", 1, "…"), ("abc", 0, ""),
    ])
    func `Clipped text ends with an ellipsis`(_ text: String, _ columns: Int, _ shown: String) {
        #expect(TerminalText.clipped(text, to: columns) == shown)
        #expect(TerminalText.width(TerminalText.clipped(text, to: columns)) <= columns)
    }

    @Test func `A transfer without a file at its destination keeps its name`() {
        var task = Samples.failed(3)
        task.file = "/home/ada/.local/state/nightshift/files/3"
        #expect(TaskText.name(task) == "film one.mkv")
        task.destination = Destination(directory: "/gone", filename: "mine.mkv")
        #expect(TaskText.name(task) == "mine.mkv")
        // The file of an app's task without a destination has a number as its name.
        task.state = .completed
        task.destination = nil
        #expect(TaskText.name(task) == "film one.mkv")
    }

    @Test func `Names contain no control characters and no passwords`() {
        #expect(TaskText.name(ofURL: "https://a.example/x/film%20one.mkv?y=/z#w") == "film one.mkv")
        #expect(TaskText.name(ofURL: "https://a.example/evil%1b%5b2J") == "evil\\x1b[2J")
        #expect(TaskText.name(ofURL: "https://bob:secret@a.example/") == "a.example")
        #expect(TaskText.name(ofURL: "https://a.example/d/") == "d")
        #expect(TaskText.shown(url: "https://bob:secret@a.example/x@y") == "https://a.example/x@y")
        #expect(TaskText.shown(url: "https://bob:sec@ret@a.example?q=@") == "https://a.example?q=@")
    }
}
