package audit

import "context"

// PageBudget is what a page may cost before it ends.
const PageBudget = pageBudget

// PageCost returns a page and what it has cost, in rows.
func PageCost(ctx context.Context, v *Views, f Filter, order Order, limit int) (Page, int, error) {
	p, b, err := v.page(ctx, f, order, limit)
	return p, b.rows + questionPrice*b.questions, err
}
