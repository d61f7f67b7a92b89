import Foundation
import Testing

/// The recipes of `docs/recipes.md`, each checked against its example.
@Suite struct RecipeTests {
    static let recipes = Recipe.all(in: (try? SourceTree.current.text("docs/recipes.md")) ?? "")

    @Test func `A recipe exists for each kind of addition`() {
        let titles = ["a wake source", "a wait reason", "a command", "an API route", "a feature"]
        #expect(Self.recipes.map(\.title) == titles.map { "Add \($0)" })
    }

    @Test(arguments: recipes)
    func `A recipe names exactly the files that mention its example`(recipe: Recipe) throws {
        try #require(!recipe.words.isEmpty && recipe.paths.count > 2)
        let mentioning = try ProjectText.current.paths(mentioning: recipe.words, below: recipe.folders)
        try #require(!mentioning.isEmpty)
        #expect(mentioning.filter { !recipe.names($0) } == [], "the recipe has no row for them")
        let rows = recipe.paths.filter { !$0.hasPrefix("Tests/") }
        #expect(
            rows.filter { row in !mentioning.contains { Recipe.covers(row, $0) } } == [],
            "these rows are not about the example")
    }

    @Test(arguments: recipes)
    func `The files of a recipe exist, and its steps are numbered`(recipe: Recipe) {
        #expect(recipe.paths.filter { !SourceTree.current.exists($0) } == [])
        #expect(recipe.numbers == Array(1...max(1, recipe.numbers.count)))
    }

    // MARK: - The reader itself

    @Test func `The checker reads recipes section by section`() {
        let recipes = Recipe.all(
            in: """
                # Recipes
                ## Add a door
                ```
                git grep -lwF -e Door -e 'import Doors' -- Sources docs
                ```
                | Step | File | Change |
                |---|---|---|
                | 1 | `Sources/Door.swift` | Make it. |
                | 2 | `Sources/House/` | Put it in. |
                ## Elsewhere
                """)
        #expect(recipes.map(\.title) == ["Add a door"])
        #expect(recipes.first?.words == ["Door", "import Doors"])
        #expect(recipes.first?.folders == ["Sources", "docs"])
        #expect(recipes.first?.numbers == [1, 2])
        #expect(recipes.first?.names("Sources/House/Hall.swift") == true)
        #expect(recipes.first?.names("Sources/Door.swift") == true)
        #expect(recipes.first?.names("Sources/Window.swift") == false)
    }

    @Test func `The checker counts only whole words as mentions`() {
        #expect(ProjectText.mentions("a Door, a wall", "Door"))
        #expect(ProjectText.mentions("Doors and \"Door\"", "\"Door\""))
        #expect(!ProjectText.mentions("Doors, _Door, Door2", "Door"))
    }
}

/// One recipe of `docs/recipes.md`.
struct Recipe: Sendable, CustomTestStringConvertible {
    var title: String
    /// The words with which the recipe's command finds the files that mention the example.
    var words: [String]
    /// The folders and files that the command searches.
    var folders: [String]
    /// The numbers of the steps.
    var numbers: [Int]
    /// The paths of the steps, from the root. A path that ends in `/` means all files in that folder.
    var paths: [String]

    var testDescription: String { title }

    /// Reads every section that has a `git grep` command and a table of steps.
    static func all(in markdown: String) -> [Recipe] {
        markdown.components(separatedBy: "\n## ").dropFirst().compactMap { section in
            let lines = section.components(separatedBy: "\n")
            guard let command = lines.first(where: { $0.hasPrefix("git grep ") }) else { return nil }
            let halves = command.components(separatedBy: " -- ")
            guard halves.count == 2 else { return nil }
            let rows = DocumentTable(["Step", "File", "Change"], in: section).rows
            return Recipe(
                title: lines[0],
                words: halves[0].matches(of: /-e (?:'([^']+)'|(\S+))/).map { String($0.1 ?? $0.2 ?? "") },
                folders: halves[1].components(separatedBy: " "), numbers: rows.map { Int($0[0]) ?? 0 },
                paths: rows.map { DocumentTable.names(in: $0[1]).first ?? "" })
        }
    }

    /// Whether a row of the recipe covers the file at `path`.
    func names(_ path: String) -> Bool { paths.contains { Self.covers($0, path) } }

    static func covers(_ row: String, _ path: String) -> Bool {
        row.hasSuffix("/") ? path.hasPrefix(row) : path == row
    }
}

/// The text of all files that the recipes' commands search, read once.
struct ProjectText: Sendable {
    private var texts: [(path: String, text: String)]

    static let current = ProjectText()

    /// The documents that mention everything, so that no recipe lists them.
    private static let ignored = ["docs/decisions/", "docs/releases/", "docs/recipes.md", "docs/glossary.md"]

    private init() {
        let tree = SourceTree.current
        let extensions: Set = ["swift", "json", "js", "html", "css", "md", "sh", "c", "h"]
        let paths = ["Sources", "docs", "scripts"].flatMap { folder in
            (try? tree.files(below: folder, extensions: extensions)) ?? []
        }
        texts = (paths + ["Package.swift"]).compactMap { path in
            guard !Self.ignored.contains(where: path.hasPrefix) else { return nil }
            return (try? tree.text(path)).map { (path, $0) }
        }
    }

    /// Returns the paths of the files that mention one of the words.
    func paths(mentioning words: [String], below folders: [String]) throws -> [String] {
        try #require(texts.count > 500)
        return texts.compactMap { path, text in
            guard folders.contains(where: { path == $0 || path.hasPrefix($0 + "/") }) else { return nil }
            return words.contains { Self.mentions(text, $0) } ? path : nil
        }
    }

    /// Whether `text` has `word` without an adjacent letter, digit or underscore, as `git grep -w` decides.
    static func mentions(_ text: String, _ word: String) -> Bool {
        var rest = text[...]
        while let range = rest.range(of: word) {
            let before = range.lowerBound > text.startIndex ? text[text.index(before: range.lowerBound)] : " "
            let after = range.upperBound < text.endIndex ? text[range.upperBound] : " "
            if !isWordCharacter(before), !isWordCharacter(after) { return true }
            rest = text[range.upperBound...]
        }
        return false
    }

    private static func isWordCharacter(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_"
    }
}
