import Notifications
import Testing

/// Tests of the conversion of texts for a notification server (R3).
@Suite struct TextTests {
    @Test(arguments: [
        ("plain", "plain"), ("a\nb\tc", "a b c"), ("\u{0}a\u{1b}[31m\u{7f}\u{9b}", "a[31m"), ("\u{2028}x", " x"),
        ("Grüße 🙂", "Grüße 🙂"), ("", ""),
    ])
    func `R3: A title is reduced to one line`(text: String, line: String) {
        #expect(NotificationText.line(text) == line)
    }

    @Test func `R3: Texts are cut between two characters at the size limit`() {
        let long = String(repeating: "é", count: 5_000)
        #expect(NotificationText.line(long).utf8.count == NotificationText.longestLine)
        #expect(NotificationText.body("x" + long).utf8.count == NotificationText.longestBody - 1)
        #expect(NotificationText.body("a\r\nb\u{85}c\td\u{0}") == "a\nb\nc\td")
    }

    @Test func `R3: Markup characters in texts are escaped`() {
        #expect(NotificationText.escaped(#"<a href="x">&'"#) == "&lt;a href=&quot;x&quot;&gt;&amp;&#39;")
    }

    @Test(arguments: [
        ("default", "message-new-instant"), ("ping.caf", "ping"), ("bell", "bell"),
        ("/etc/passwd", "message-new-instant"),
        ("../x", "message-new-instant"), ("", "message-new-instant"), ("a b", "message-new-instant"),
    ])
    func `R3: A sound is a name and never a path`(name: String, sound: String) {
        #expect(NotificationText.sound(name) == sound)
    }

    @Test func `R3: The name of a category has the form that is reserved for vendors`() {
        #expect(NotificationText.category("mail") == "x-nightshift.mail")
        #expect(NotificationText.category("") == nil && NotificationText.category("a\nb") == nil)
    }
}
