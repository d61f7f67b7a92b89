import TestSupport
import Testing

struct DocumentedCommandTests {
    @Test(
        arguments: [
            ("a b", [["a", "b"]]), ("a;b && c || d | e &", [["a"], ["b"], ["c"], ["d"], ["e"]]),
            ("a # b", [["a"]]), ("a#b", [["a#b"]]), ("# a", []),
            ("a 'b c' \"d \\\"e\" f\\ g ''", [["a", "b c", "d \"e", "f g", ""]]),
            ("a \\\n  b", [["a", "b"]]), ("a '{\n b'", [["a", "{\n b"]]), ("a >b 2>&1 <c d", [["a", "d"]]),
            ("a \"$(b c | d)\" $e", [["b", "c"], ["d"], ["a", "$(…)", "$e"]]), ("t=$(a b)", [["a", "b"], ["t=$(…)"]]),
        ] as [(String, [[String]])])
    func `The parser splits a shell line into simple commands`(_ text: String, _ commands: [[String]]) {
        #expect(ShellLine(text)?.commands == commands)
    }

    @Test(arguments: ["a 'b", "a \"b", "a \\", "a $(b", "a \"$(b\""])
    func `A line whose quotes are open is not complete`(_ text: String) {
        #expect(ShellLine(text) == nil)
    }

    @Test func `The arguments of a program follow its name`() {
        let line = ShellLine("A=b n x; m n; t=$(n y); n")
        #expect(line?.arguments(of: "n") == [["x"], ["y"], []])
    }

    @Test func `The parser finds commands in blocks and in backticks`() {
        let text = """
            # Title
            See `a b
            c` and `d`.

            ```
            $ e 'f
            g'
            output
            $ h
            ```

            | `i` | an ` alone
            | `j` |
            1. Do this:
               ```sh
               k \\
                   l
                 picture
               ```
            """
        let found = DocumentedCommand.commands(in: text, of: "x.md").map { "\($0.line) \($0.form) \($0.text)" }
        #expect(
            found == [
                "2 span a b c", "3 span d", "6 block e 'f\ng'", "9 block h", "12 span i", "13 span j",
                "16 block k \\\n    l",
            ])
    }
}
