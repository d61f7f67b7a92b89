import Apps
import NightshiftAPI
import Testing

/// Tests of the `Exec` key (Desktop Entry Specification, "The Exec key"). They parse whole entries, because values are
/// escaped twice.
@Suite struct ExecLineTests {
    private func words(_ exec: String) throws(EntryError) -> [String] {
        let text = "[Desktop Entry]\nType=Application\nName=App\nExec=\(exec)\n"
        return try AppManifest(parsing: text, id: AppID(rawValue: "a"), path: "/a.desktop").command
    }

    @Test(arguments: [
        ("app", ["app"]),
        ("/usr/bin/app  -a   --long=b ", ["/usr/bin/app", "-a", "--long=b"]),
        ("\"/opt/My App/app\" \"a b\" c", ["/opt/My App/app", "a b", "c"]),
        ("app \"\"", ["app", ""]),
        ("app %f", ["app"]),
        ("app %F %u %U %i %c %k end", ["app", "end"]),
        ("app %d %D %n %N %v %m", ["app"]),
        ("app --file=%f", ["app", "--file="]),
        ("app 100%%", ["app", "100%"]),
        ("app \"%%\" \"x %f\"", ["app", "%", "x "]),
        // These values are escaped once for the string and once for the quotes.
        (#"app "\\$HOME" "\\`" "\\"" "\\\\""#, ["app", "$HOME", "`", "\"", "\\"]),
        (#"sh -c "echo 'a' > /tmp/b; exit 3""#, ["sh", "-c", "echo 'a' > /tmp/b; exit 3"]),
        (#"app a\sb"#, ["app", "a", "b"]),
        ("app é \"日本 語\"", ["app", "é", "日本 語"]),
        ("env A=b app", ["env", "A=b", "app"]),
    ])
    func `Words`(exec: String, expected: [String]) throws {
        #expect(try words(exec) == expected)
    }

    @Test(arguments: [
        ("app 'a b'", "an argument with ''' must be in double quotes as a whole"),
        ("app $HOME", "an argument with '$' must be in double quotes as a whole"),
        ("app a\"b\"", "an argument with '\"' must be in double quotes as a whole"),
        ("app a;b", "an argument with ';' must be in double quotes as a whole"),
        ("app \\ta", "an argument with a control character must be in double quotes as a whole"),
        ("app \"a", "a double quote is not closed"),
        ("app \"a\"b", "there must be a space after the closing quote"),
        ("app \"$HOME\"", "within quotes write '$' as '\\\\$'; variables are not replaced"),
        (
            #"app "\\a""#,
            "within quotes a backslash may be only before '\"', '`', '$' or '\\' "
                + "(and is itself written twice in a desktop entry)"
        ),
        ("app %z", "'%z' is not a field code; write a percent sign itself as '%%'"),
        ("app 100%", "there is nothing after the last percent sign; write a percent sign itself as '%%'"),
        ("bin/app", "'bin/app' is neither an absolute path nor a name to search in PATH"),
        ("A=b app", "the name of a program cannot contain '='"),
        ("%f", "the command line names no program"),
        ("\"\" a", "the command line names no program"),
    ])
    func `The error about an Exec value names the line and the key`(exec: String, message: String) {
        let error = #expect(throws: EntryError.self) { try words(exec) }
        #expect(error?.description == "a.desktop, line 4: Exec: \(message)")
        #expect(error?.key == "Exec")
    }
}
