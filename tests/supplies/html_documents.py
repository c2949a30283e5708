"""A page as a test reads it, and the words that no page may say."""

import re
from html.parser import HTMLParser

FORBIDDEN = ("anonymous", "GDPR compliant", "GDPR-compliant", "safe", "safely", "zero risk", "risk-free")
VOID = {"meta", "br", "hr", "img", "input", "link"}


class Document(HTMLParser):
    """The elements of a page with their texts; complains where tags do not match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.elements, self.said, self.styles = [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"left open: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))
        if tag not in VOID:
            self.open.append((tag, self.elements[-1]))

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs), []))

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1][0] == tag, f"</{tag}> closes <{self.open[-1][0]}>"
        self.open.pop()

    def handle_data(self, data):
        (self.styles if self.open and self.open[-1][0] == "style" else self.said).append(data)
        for _, (_, _, texts) in self.open:
            texts.append(data)

    def all(self, *tags):
        return [
            (attrs, " ".join("".join(texts).split())) for tag, attrs, texts in self.elements if tag in tags
        ]

    @property
    def text(self):
        return " ".join(" ".join(self.said).split())

    @property
    def lines(self):
        """The text, a line for each piece of it, so that two pages can be compared line by line."""
        return "\n".join(" ".join(piece.split()) for piece in self.said if piece.strip())

    @property
    def style(self):
        return "".join(self.styles)


def says(text, word):
    """Tell whether a text holds a word, as a word."""
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text, re.IGNORECASE)
