import ArgumentParser
import NightshiftAPI

/// A parser for form fields as in curl: `name=value` or `name=@file`. The options `;type=...` and `;filename=...` may
/// follow.
enum FormArgument {
    static func parse(_ text: String) throws -> FormField {
        guard let equals = text.firstIndex(of: "="), equals > text.startIndex else {
            throw ValidationError("write a form field as 'name=value' or 'name=@file'")
        }
        var field = FormField(name: String(text[..<equals]))
        let content = text[text.index(after: equals)...]
        guard content.first == "@" else {
            field.value = String(content)
            return field
        }
        var path = content.dropFirst()
        // The options are read from the end, because a file name may contain semicolons.
        while let semicolon = path.lastIndex(of: ";") {
            let option = path[path.index(after: semicolon)...]
            if option.hasPrefix("type=") {
                field.contentType = String(option.dropFirst("type=".count))
            } else if option.hasPrefix("filename=") {
                field.fileName = String(option.dropFirst("filename=".count))
            } else {
                break
            }
            path = path[..<semicolon]
        }
        guard !path.isEmpty else { throw ValidationError("'\(field.name)=@' must be followed by a file name") }
        field.source = String(path)
        return field
    }
}
